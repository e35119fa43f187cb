/**
 * Restores a backup into a running server. Requests are answered 503 during the restore, and afterwards until the server can open its
 * store.
 */
import { messageLineOf } from '../error-log.ts'
import { type RetryOptions, retryUntilSuccess } from './open-retry.ts'
import type { RequestGate } from './request-gate.ts'

type Closing = { readonly close: () => Promise<void> }

export type StoreRestorerParts<Home extends Closing> = {
  readonly gate: RequestGate<Home>
  /** Commits the restore: `open` then opens the restored store. If the commit fails, `open` still opens the previous store. */
  readonly commit: (file: string) => Promise<void>
  readonly open: () => Promise<Home>
  /** Gets one-line warnings for the operator. */
  readonly warn: (line: string) => void
  /** Options of repeated attempts to open the store. `signal`: aborted when the server closes. */
  readonly attempts: Pick<RetryOptions, 'signal' | 'pause'>
}

/**
 * Returns the restore operation. It rejects if the backup was not restored, or if the first attempt to open the store fails. The error
 * tells the operator which. If the previous stores cannot be closed, they are not replaced, because they might still write to the files.
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

/** Closes the server on the previous stores and commits the restore. Returns the message of a failure, or undefined. */
async function closeAndCommit(home: Closing, commit: () => Promise<void>): Promise<string | undefined> {
  try {
    await home.close()
    await commit()
    return undefined
  } catch (error) {
    return messageLineOf(error)
  }
}
