/**
 * Stored form of the index state. Functions of other releases read and write it at the same time, and after a rollback an earlier release
 * reads it. So fields keep their names. Fields that this release does not know are stored again unchanged.
 */
import { deflateRawSync } from 'node:zlib'
import { type IndexState, NO_IDENTITY, type Reconciliation } from './state.ts'
import type { IndexFormat, PreviousIndex, Reached } from './type-index.ts'

type ByType<Value> = Readonly<Record<string, Value>>

export type StoredState = Omit<IndexState, 'types' | 'identity' | 'former' | 'epoch' | 'unknownLive' | 'setBack' | 'elsewhere'> & {
  readonly live?: {
    readonly identity: string
    readonly types: ByType<string>
    /** Types with a lost index. */
    readonly lacking: readonly string[]
    readonly former: readonly string[]
    readonly epoch?: number
    /** Types with an unreconciled index. */
    readonly ahead?: readonly string[]
  }
  /** Formats of outdated indices, by type. */
  readonly behind?: ByType<IndexFormat>
  /** Previous indices, by type. */
  readonly kept?: ByType<PreviousIndex>
  /** Restore generations of identifier rows, by type. */
  readonly listed?: ByType<number>
  readonly setBack?: Reconciliation & { readonly reached?: ByType<Reached> }
}

/** Partition key of the index state, and beginning of those of its rows. */
export const INDEX_STATE = 'DEFINITIONS'

export const NO_STORED_STATE: StoredState = { definitions: [], rebuilds: [], poisoned: [] }

/** Returns the index state of a stored state. A stored state without `live` has the identity NO_IDENTITY and no former identities. */
export function decode({ live, behind, kept, listed, setBack: stored, ...same }: StoredState): IndexState {
  const { reached, ...setBack } = stored ?? {}
  const {
    identity = NO_IDENTITY,
    types: identities,
    lacking,
    former = [],
    epoch,
    ahead,
    ...unknownLive
  } = live ?? ({} as Partial<NonNullable<typeof live>>)
  const types = transpose({
    identity: identities,
    lost: marksOf(lacking),
    unreconciled: marksOf(ahead),
    reached,
    outdated: behind,
    previous: kept,
    listed,
  })
  return { ...same, types, identity, former, epoch, unknownLive, setBack: stored && setBack } as IndexState
}

export function encode({ types, identity, former, epoch, unknownLive, setBack, elsewhere: _, ...same }: IndexState): StoredState {
  const {
    identity: identities = {},
    lost = {},
    unreconciled = {},
    reached = {},
    outdated: behind = {},
    previous: kept = {},
    listed,
  } = transpose(types)
  const ahead = epoch === undefined ? epoch : Object.keys(unreconciled)
  const live = { ...unknownLive, identity, types: identities, lacking: Object.keys(lost), former, epoch, ahead }
  return {
    ...{ ...same, behind, kept, listed },
    live: identity === NO_IDENTITY ? undefined : live,
    setBack: setBack && { ...setBack, reached },
  } as StoredState
}

const marksOf = (types: readonly string[] = []): ByType<true> => Object.fromEntries(types.map((type) => [type, true]))

/** Swaps the two levels of keys: from property → type → value to type → property → value, and the reverse. */
function transpose(rows: Readonly<Record<string, ByType<unknown> | undefined>>): Record<string, Record<string, never>> {
  const columns: Record<string, Record<string, unknown>> = {}
  for (const row in rows)
    for (const column in rows[row]) {
      columns[column] ??= {}
      columns[column][row] = rows[row][column]
    }
  return columns as Record<string, Record<string, never>>
}

export const NO_STATE: IndexState = /* @__PURE__ */ decode(NO_STORED_STATE)

/**
 * Maximum size of the stored state, in compressed bytes. Rebuild requests and SearchParameters that would exceed it change nothing. A
 * DynamoDB item holds 400 kB, and the progress of rebuilds needs the rest.
 */
const MOST_BYTES = 300_000

/**
 * Whether the value, as compressed JSON, has at most `most` bytes. JSON of at most `most` / 2 characters counts as small enough and is not
 * compressed.
 */
export function isRoomFor(kept: unknown, most = MOST_BYTES): boolean {
  const text = JSON.stringify(kept)
  return text.length <= most / 2 || deflateRawSync(text).length <= most
}
