/** The setting that adopts tables which DynamoDB restored. How it is used, step by step, is in lib/README.md. */

export type RestoredTables = {
  /** The name of the table of resources that counts now. */
  readonly resources: string
  /**
   * Of the table of state. Absent, as it is unless that is damaged itself: it stays, since it holds who may do what, what was revoked, and audit
   * records, which no restore sets back.
   */
  readonly state?: string
  /** Of the table that counted before and `resources` was restored from. Absent: there is none, and all documents of the index are made again. */
  readonly former?: string
  /** 1, and one more with each restore of the stage. */
  readonly epoch: number
  /** To which the table was restored: `2031-01-01T03:00:00Z`. */
  readonly instant: string
}

/** What every function is told where the store was ever set back. */
export const epochEnvironmentOf = (restored: RestoredTables | undefined): Record<string, string> =>
  restored === undefined ? {} : { FHIR_EPOCH: String(restored.epoch) }

/** Versions of documents are numbers that JavaScript tells apart: an epoch has 2³² of them. */
const MOST_EPOCHS = 1_000_000
/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html */
const TABLE_NAME = /^[A-Za-z0-9_.-]{3,255}$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/

const NAMES = ['resources', 'state', 'former', 'epoch', 'instant']

/** RangeError that names the place of what is wrong. */
export function checkRestoredTables(given: unknown): void {
  if (given === undefined) return
  const wrong = typeof given === 'object' && given !== null ? wrongIn(given) : ' is no object'
  if (wrong !== undefined) throw new RangeError(`restored${wrong}`)
}

type Given = Readonly<Partial<Record<keyof RestoredTables, unknown>>>

function wrongIn(given: Given): string | undefined {
  const unknown = Object.keys(given).find((name) => !NAMES.includes(name))
  if (unknown !== undefined) return `.${unknown} is nothing that can be said: there are ${NAMES.join(', ')}`
  return [...wrongs(given)].find(([isWrong]) => isWrong)?.[1]
}

function* wrongs({ resources, state, former, epoch, instant }: Given) {
  const isName = (value: unknown): boolean => typeof value === 'string' && TABLE_NAME.test(value)
  const isEpoch = Number.isInteger(epoch) && Number(epoch) >= 1 && Number(epoch) <= MOST_EPOCHS
  const isInstant = typeof instant === 'string' && INSTANT.test(instant) && !Number.isNaN(Date.parse(instant))
  yield [!isName(resources), '.resources is the name of a table'] as const
  yield [state !== undefined && !isName(state), '.state is the name of a table'] as const
  yield [former !== undefined && !isName(former), '.former is the name of a table'] as const
  yield [former === resources, '.former is the table that counted before, not the restored one'] as const
  yield [state === resources, '.state is another table than that of resources'] as const
  yield [!isEpoch, `.epoch is a whole number from 1 to ${MOST_EPOCHS}, one more with each restore`] as const
  yield [!isInstant, '.instant is one of UTC, as 2031-01-01T03:00:00Z'] as const
}
