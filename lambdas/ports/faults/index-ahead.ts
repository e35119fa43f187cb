/** The index found a version that the store does not have, for example after a point-in-time restore: its results are unreliable. */
import { MachineFault } from './machine-error.ts'

export class IndexAhead extends MachineFault {
  override readonly fault = 'index-ahead'
}
