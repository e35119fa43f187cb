/** The index has found a version that the store does not have, as when a store is restored to an earlier time: what it finds cannot be relied on. */
import { MachineFault } from './machine-error.ts'

export class IndexAhead extends MachineFault {
  override readonly fault = 'index-ahead'
}
