/** A backup takes the place of what a running server keeps. Requests meanwhile are answered 503, and so they are until the server can open it. */
import { messageLineOf } from '../error-log.ts'
import { type RetryOptions, retryUntilSuccess } from './open-retry.ts'
import type { RequestGate } from './request-gate.ts'

type Closing = { readonly close: () => Promise<void> }

export type StoreRestorerParts<Home extends Closing> = {
  readonly gate: RequestGate<Home>
  /** From then on `open` opens what was restored. Where it fails, what was there before. */
  readonly commit: (file: string) => Promise<void>
  readonly open: () => Promise<Home>
  /** Told what the person who runs the server should know, in one line. */
  readonly warn: (line: string) => void
  /** `signal`: the server ends, nothing has to be opened any more. */
  readonly attempts: Pick<RetryOptions, 'signal' | 'pause'>
}

/**
 * Rejects, with what became of the backup, where it is not restored, or not open after one attempt. What cannot be closed is not exchanged:
 * it might write into what takes its place.
 */
export const storeRestorer =
  <Home extends Closing>({ gate, commit, open, warn, attempts }: StoreRestorerParts<Home>) =>
  (file: string): Promise<void> =>
    new Promise((resolve, reject) => {
      let fault: string | undefined
      const onFailure = (error: unknown): void => {
        const reason = messageLineOf(error)
        warn(`The store cannot be opened (${reason}): requests are answered 503 until it can`)
        const became = fault === undefined ? 'It is restored' : `Nothing was restored (${fault})`
        reject(
          new Error(
            `${became}, but the server cannot open its store (${reason}): it tries again each second, and answers 503 until it can`,
          ),
        )
      }
      const onRecovery = () => warn('The store is open again')
      const exchange = async (home: Home): Promise<Home> => {
        fault = await closeAndCommit(home, () => commit(file))
        return retryUntilSuccess(open, { ...attempts, onFailure, onRecovery })
      }
      const exchanged = () => (fault === undefined ? resolve() : reject(new Error(`Nothing was restored: ${fault}`)))
      gate.exchange(exchange).then(exchanged, reject)
    })

/** What went wrong. */
async function closeAndCommit(home: Closing, commit: () => Promise<void>): Promise<string | undefined> {
  try {
    await home.close()
    await commit()
    return undefined
  } catch (error) {
    return messageLineOf(error)
  }
}
