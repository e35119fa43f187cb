/** Setting that adopts tables which DynamoDB restored. lib/docs/restore.md describes the procedure step by step. */
import { unacceptedName } from './setting-checks.ts'

export type RestoredTables = {
  /** Name of the table that DynamoDB restored and that the stage uses from now on. */
  readonly resources: string
  /**
   * Name of a restored state table. Set it only if the state table itself is damaged. Otherwise keep the state table: it holds permissions,
   * revocations and audit records. A restore of the resources must not undo these.
   */
  readonly state?: string
  /**
   * Name of the previous resource table, from which `resources` was restored. It lists the versions that the restored table lacks. If
   * absent, all documents of the index are rebuilt.
   */
  readonly former?: string
  /** Restore generation of the stage: 1 for the first restore, and one more for each later one. */
  readonly epoch: number
  /** Instant to which the table was restored, for example `2031-01-01T03:00:00Z`. */
  readonly instant: string
}

/** Returns the environment variables of every function. Empty if the store was never restored. */
export const epochEnvironmentOf = (restored: RestoredTables | undefined): Record<string, string> =>
  restored === undefined ? {} : { FHIR_EPOCH: String(restored.epoch) }

/** Maximum epoch. Document versions must stay exact as JavaScript numbers, and each epoch reserves 2³² of them. */
const MAX_EPOCHS = 1_000_000
/**
 * Table names that DynamoDB accepts: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
 */
const TABLE_NAME = /^[A-Za-z0-9_.-]{3,255}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/

const NAMES = ['resources', 'state', 'former', 'epoch', 'instant']

/** Throws RangeError if the setting is invalid. The message names the location. */
export function checkRestoredTables(input: unknown): void {
  if (input === undefined) return
  const fault = typeof input === 'object' && input !== null ? faultIn(input) : ' must be an object'
  if (fault !== undefined) throw new RangeError(`restored${fault}`)
}

type RestoredInput = Readonly<Partial<Record<keyof RestoredTables, unknown>>>

function faultIn(input: RestoredInput): string | undefined {
  const unknown = Object.keys(input).find((name) => !NAMES.includes(name))
  if (unknown !== undefined) return unacceptedName(`.${unknown}`, NAMES)
  return [...checksOf(input)].find(([isInvalid]) => isInvalid)?.[1]
}

function* checksOf({ resources, state, former, epoch, instant }: RestoredInput) {
  const isName = (value: unknown): boolean => typeof value === 'string' && TABLE_NAME.test(value)
  const isEpoch = Number.isInteger(epoch) && Number(epoch) >= 1 && Number(epoch) <= MAX_EPOCHS
  const isInstant = typeof instant === 'string' && INSTANT.test(instant) && !Number.isNaN(Date.parse(instant))
  yield [!isName(resources), '.resources must be the name of a table'] as const
  yield [state !== undefined && !isName(state), '.state must be the name of a table'] as const
  yield [former !== undefined && !isName(former), '.former must be the name of a table'] as const
  yield [former === resources, '.former must be the previous table, not the restored one'] as const
  yield [state === resources, '.state and resources must be different tables'] as const
  yield [!isEpoch, `.epoch must be a whole number from 1 to ${MAX_EPOCHS}, one more with each restore`] as const
  yield [!isInstant, '.instant must be a time in UTC, such as 2031-01-01T03:00:00Z'] as const
}
