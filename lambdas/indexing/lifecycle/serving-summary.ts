/**
 * Summary of the index state, of at most 4 kB, which every function reads: identities and formats of the serving indices, and the custom
 * parameters of all tenants while they fit. A reader takes the others from the row of its tenant.
 */
import type { RowStamps, SharedSummary } from '../../ports/rows/shared-rows.ts'
import type { CustomParameter } from '../custom-definitions.ts'
import type { IndexState } from './state.ts'
import type { StoredState } from './stored-state.ts'
import type { TypeIndex } from './type-index.ts'

/** Record of a type. `at`: position of the format of its oldest documents in `formats`. Values at the end that are 0 are left out. */
type TypeSummary = readonly [type: string, identity?: number, flags?: number, at?: number, listed?: number]

const LOST = 1
const UNRECONCILED = 2

export type ServingSummary = Pick<StoredState, 'extraction' | 'formatAt' | 'uncovered' | 'rows'> & {
  readonly identity: string
  readonly epoch?: number
  /** Identities and formats that the records of types refer to by their position, from 1 on. */
  readonly identities: readonly string[]
  readonly formats: readonly string[]
  readonly types: readonly TypeSummary[]
  /** Custom parameters in the root. Absent if they do not fit: a reader then reads the root. */
  readonly definitions?: readonly CustomParameter[]
}

/** Returns the state that the summary shows. The instants of outdated indices are 0, because only a rebuild needs them. */
export function decodeSummary({ identities, formats, types, definitions = [], ...same }: ServingSummary): IndexState {
  const records = types.map(([type, identity = 0, flags = 0, at = 0, listed = 0]): readonly [string, TypeIndex] => [
    type,
    {
      ...(identity === 0 ? {} : { identity: identities[identity - 1]! }),
      ...(flags & LOST ? { lost: true } : {}),
      ...(flags & UNRECONCILED ? { unreconciled: true } : {}),
      ...(at === 0 ? {} : { outdated: { extraction: formats[at - 1]!, since: 0 } }),
      ...(listed === 0 ? {} : { listed }),
    },
  ])
  return { ...same, definitions, rebuilds: [], poisoned: [], former: [], types: Object.fromEntries(records) }
}

export function encodeSummary(state: IndexState, areDefinitionsIn: boolean): ServingSummary {
  const { identity, epoch, extraction, formatAt, uncovered, rows, definitions, types } = state
  const identities = new Map<string, number>()
  const formats = new Map<string, number>()
  const records = Object.entries(types).map(([type, { identity: own, lost, unreconciled, outdated, listed = 0 }]) =>
    trimmed([
      type,
      own === undefined ? 0 : placeIn(identities, own),
      (lost ? LOST : 0) | (unreconciled ? UNRECONCILED : 0),
      outdated === undefined ? 0 : placeIn(formats, outdated.extraction),
      listed,
    ]),
  )
  return {
    ...{ identity, identities: [...identities.keys()], formats: [...formats.keys()], types: records },
    ...(epoch === undefined ? {} : { epoch }),
    ...(extraction === undefined ? {} : { extraction }),
    ...(formatAt === undefined ? {} : { formatAt }),
    ...(uncovered === undefined ? {} : { uncovered }),
    ...(rows === undefined ? {} : { rows }),
    ...(areDefinitionsIn ? { definitions } : {}),
  }
}

function placeIn(places: Map<string, number>, text: string): number {
  if (!places.has(text)) places.set(text, places.size + 1)
  return places.get(text)!
}

const trimmed = (record: readonly [string, ...number[]]): TypeSummary =>
  record.slice(0, record.findLastIndex((each) => each !== 0) + 1) as unknown as TypeSummary

/** Serving state as a function reads it. `stamps`: show whether the row of a tenant has changed. */
export type ServingState = { readonly value: IndexState; readonly stamps: RowStamps }

/** Reads what the summary does not show. */
export type ServingDetails = {
  /** Returns the state with the custom parameters in the root. */
  readonly whole: () => Promise<ServingState>
  /** Returns the custom parameters of the tenant. */
  readonly definitionsOf: (tenant: string, state: ServingState) => Promise<readonly CustomParameter[]>
}

/** Reads the state for searches. `details`: loads their code, which most stages never need. */
export class ServingStateReader {
  readonly #summary: () => Promise<SharedSummary<ServingSummary> | undefined>
  readonly #details: () => Promise<ServingDetails>

  constructor(summary: () => Promise<SharedSummary<ServingSummary> | undefined>, details: () => Promise<ServingDetails>) {
    this.#summary = summary
    this.#details = details
  }

  async read(): Promise<ServingState> {
    const summary = await this.#summary()
    // Before the first deployment of a release with summaries there is none.
    if (summary?.value.definitions === undefined) return (await this.#details()).whole()
    return { value: decodeSummary(summary.value), stamps: summary }
  }

  async definitionsOf(tenant: string, state: ServingState): Promise<readonly CustomParameter[]> {
    return (await this.#details()).definitionsOf(tenant, state)
  }
}
