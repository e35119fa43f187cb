import { MachineFault } from './machine-error.ts'

/** `retryAfter`: seconds until the index has caught up. `versions`: how many are not indexed yet. Each is absent if it is unknown. */
export type IndexLag = { readonly retryAfter?: number | undefined; readonly versions?: number | undefined }

/** The search index did not catch up in time with the versions that the search must see. */
export class IndexBehind extends MachineFault {
  override readonly fault = 'index-behind'
  readonly retryAfter: number | undefined
  readonly versions: number | undefined

  constructor({ retryAfter, versions }: IndexLag = {}) {
    super('the search index is behind')
    this.retryAfter = retryAfter
    this.versions = versions
  }
}
