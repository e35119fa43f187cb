import { MachineFault } from './machine-error.ts'

/** The store shows its latest writes later than a reader waits. The request has no result and changed nothing. */
export class WritesHidden extends MachineFault {
  override readonly fault = 'writes-hidden'
}
