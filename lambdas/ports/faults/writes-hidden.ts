import { MachineFault } from './machine-error.ts'

/** The store shows its latest writes late, for longer than a reader waits: nothing was found out, or done. */
export class WritesHidden extends MachineFault {
  override readonly fault = 'writes-hidden'
}
