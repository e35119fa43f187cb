import { MachineError } from './machine-error.ts'

/** The store shows its latest writes late, for longer than a reader waits: nothing was found out, or done. */
export class WritesHidden extends MachineError {
  override readonly fault = 'writes-hidden'
}
