/** Rebuilds the search index of a server and reports the progress. */
import { setTimeout as wait } from 'node:timers/promises'
import { type Authorize, createGet, createPost } from '../client/http-post.ts'
import { type BufferedResponse, isSuccess, type OperationOutcome, parseJsonBody, reasonOf } from '../client/server-response.ts'

/** Progress of the rebuild of one type. `total`: absent while it is unknown. */
export type ReindexProgress = { readonly type: string; readonly done: number; readonly total?: number }

export type ReindexOptions = {
  readonly base: string
  /** Empty: all types. */
  readonly types: readonly string[]
  readonly authorize?: Authorize
  /** Called with the running rebuilds, about once a second. */
  readonly onProgress: (rebuilds: readonly ReindexProgress[]) => void
}

/** Milliseconds between two status requests. */
const BETWEEN = 1_000
/** Failed status requests in a row at which the command ends. The rebuild continues on the server. */
const PATIENCE = 20

/**
 * Returns when the rebuild is complete. Throws if the server refuses it or stops responding. In the latter case the server may still
 * continue the rebuild.
 */
export async function reindex({ base, types, authorize, onProgress }: ReindexOptions): Promise<void> {
  const query = types.length === 0 ? '' : `?type=${types.map(encodeURIComponent).join(',')}`
  const response = await createPost(`${base}/$reindex${query}`, authorize)(Buffer.alloc(0))
  if (!isSuccess(response)) throw refused(response)
  const get = createGet(authorize)
  for (let left = PATIENCE; ; await wait(BETWEEN)) {
    const answer = await get(`${base}/$reindex-status`, {}).catch(() => undefined)
    if (answer === undefined || answer.status === 429 || answer.status >= 500) {
      if (--left === 0) throw new Error('The server no longer reports its progress. The rebuild continues; $reindex-status shows it')
      continue
    }
    if (!isSuccess(answer)) throw refused(answer)
    left = PATIENCE
    const rebuilds = rebuildsIn(parseJsonBody(answer) as Parameters)
    if (rebuilds.length === 0) return
    onProgress(rebuilds)
  }
}

const refused = (answer: BufferedResponse): Error =>
  new Error(reasonOf(answer.status, parseJsonBody(answer) as OperationOutcome | undefined))

type Part = { readonly name: string; readonly valueCode?: string; readonly valueInteger?: number }
type Parameters = { readonly parameter?: readonly { readonly name: string; readonly part?: readonly Part[] }[] } | undefined

function rebuildsIn(status: Parameters): readonly ReindexProgress[] {
  const rebuilds = status?.parameter?.filter(({ name }) => name === 'rebuild') ?? []
  return rebuilds.map(({ part = [] }) => {
    const partOf = (name: string) => part.find((each) => each.name === name)
    const total = partOf('total')?.valueInteger
    return { type: partOf('type')?.valueCode ?? '', done: partOf('done')?.valueInteger ?? 0, ...(total === undefined ? {} : { total }) }
  })
}
