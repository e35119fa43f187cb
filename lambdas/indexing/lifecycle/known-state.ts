/** Reads the index state from its root and from the rows of the tenants that a reader needs. */
import type { RowName, SharedRoot, SharedRowsReader } from '../../ports/rows/shared-rows.ts'
import type { CustomParameter } from '../custom-definitions.ts'
import { capacityUsersOf, FIELD_OWNERS, FIELDS_KIND, type FieldCounts } from './field-rows.ts'
import type { ServingSummary } from './serving-summary.ts'
import { ALL_TENANTS, type IndexState, type ReadIndexState, type StateScope } from './state.ts'
import { decode, type StoredState } from './stored-state.ts'
import { decodeRow, KINDS, mergeEntries, PARTS, type PartName, type TenantEntry } from './tenant-rows.ts'

/** Maximum rows of one read of all rows. It takes at most 4 units if a row of definitions has 8 kB, and another one 1.6 kB. */
const PAGES: Readonly<Record<PartName, number>> = { definitions: 2, poisoned: 10, rebuilds: 10 }

export type StoredReader = SharedRowsReader<StoredState, ServingSummary>
export type NamedRow = RowName & { readonly value: unknown }

/** The root and the rows that were read with it, by their names. */
export type KnownState = { readonly root: SharedRoot<StoredState>; readonly rows: ReadonlyMap<string, NamedRow> }

export const nameOfRow = ({ kind, owner }: RowName): string => `${kind}#${owner}`

export async function readIndexState(stored: StoredReader, scope: StateScope): Promise<ReadIndexState> {
  const known = await readKnownState(stored, scope)
  return { number: known.root.number, value: stateOf(known), isForeign: known.root.isForeign }
}

/** `more`: further rows to read. */
export async function readKnownState(stored: StoredReader, scope: StateScope, more: readonly RowName[] = []): Promise<KnownState> {
  const root = await stored.root()
  const rows = new Map<string, NamedRow>()
  const names = [...more]
  for (const part of root.value.rows ? PARTS : []) {
    const tenants = scope[part] ?? []
    const kind = KINDS[part]
    if (tenants !== 'all') names.push(...tenants.flatMap((owner) => (owner === ALL_TENANTS ? [] : { kind, owner })))
    else for (const { owner, value } of await stored.list(kind, PAGES[part])) rows.set(nameOfRow({ kind, owner }), { kind, owner, value })
  }
  if (root.value.rows && scope.capacity) names.push(...FIELD_OWNERS.map((owner) => ({ kind: FIELDS_KIND, owner })))
  const values = names.length === 0 ? [] : await stored.rows(names, root)
  for (const [i, name] of names.entries()) rows.set(nameOfRow(name), { ...name, value: values[i] })
  return { root, rows }
}

/** Returns the state with the entries of the root and of the rows. */
export function stateOf({ root, rows }: KnownState): IndexState {
  const inRoot = decode(root.value)
  if (!inRoot.rows) return inRoot
  const partOf = (part: PartName): readonly TenantEntry[] => {
    const byTenant = byOwner(root.value[part])
    for (const { kind, owner, value } of rows.values())
      if (kind === KINDS[part])
        byTenant.set(owner, mergeEntries(part, decodeRow(part, owner, value, root.value), byTenant.get(owner) ?? []))
    return [...byTenant.values()].flat()
  }
  const parts = Object.fromEntries(PARTS.map((part) => [part, partOf(part)])) as unknown as Pick<IndexState, PartName>
  const state = { ...inRoot, ...parts, elsewhere: capacityUsersOf(fieldsIn(rows), definedIn(rows)) }
  // That release reads and writes no rows, so it may have missed what they hold.
  return root.isForeign ? { ...state, redefine: 'all' } : state
}

export const byOwner = (entries: readonly TenantEntry[]): Map<string, readonly TenantEntry[]> =>
  Map.groupBy(entries, ({ tenant }) => tenant)

const fieldsIn = (rows: KnownState['rows']): readonly FieldCounts[] =>
  [...rows.values()].flatMap(({ kind, value }) => (kind === FIELDS_KIND && value !== undefined ? [value as FieldCounts] : []))

/** Returns the mappings of the custom parameters in the rows of tenants. */
const definedIn = (rows: KnownState['rows']): readonly CustomParameter['mapping'][] =>
  [...rows.values()].flatMap(({ kind, value }) => (kind === KINDS.definitions ? mappingsIn(value) : []))

export const mappingsIn = (row: unknown): readonly CustomParameter['mapping'][] =>
  ((row ?? []) as readonly Pick<CustomParameter, 'mapping'>[]).map(({ mapping }) => mapping)
