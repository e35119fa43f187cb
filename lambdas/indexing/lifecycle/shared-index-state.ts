/**
 * The index state as a shared value. Its root holds everything in the format of the earlier release while that fits. Then the parts of
 * tenants become rows, and an earlier release finds a root without them. It counts as an entry of a tenant whether it is in the root or in
 * a row: a change of the part moves it to the row.
 */
import type { RowName, SharedRows, SharedWrite } from '../../ports/rows/shared-rows.ts'
import type { VersionedValue } from '../../ports/rows/shared-state.ts'
import type { CustomParameter } from '../custom-definitions.ts'
import { FIELDS_KIND, FieldChanges, type FieldCounts } from './field-rows.ts'
import { byOwner, type KnownState, mappingsIn, type NamedRow, nameOfRow, readIndexState, readKnownState, stateOf } from './known-state.ts'
import { encodeSummary, type ServingSummary } from './serving-summary.ts'
import { ALL_TENANTS, type IndexState, type SharedIndexState } from './state.ts'
import { decode, encode, isRoomFor, type StoredState } from './stored-state.ts'
import { decodeRow, encodeRow, KINDS, PARTS, type PartName, type TenantEntry } from './tenant-rows.ts'

/** Maximum bytes of a root with parts of tenants, compressed. Reading it takes 4 units. */
const MOST_IN_ROOT = 15_000
/** Maximum bytes of a summary, compressed. Reading it takes 1 unit; the rest is for its stamps. */
export const MOST_IN_SUMMARY = 3_400
/** Most rows with which the root begins to divide. A change of more waits, so that it fits into one write. */
const MOST_AT_FIRST = 30
/** Tenants whose parts one write moves from the root to rows. */
const MOVED_AT_ONCE = 15
/** Parts of tenants that one write adds as rows. Further ones stay in the root, because a write has at most MAX_WRITTEN_ROWS. */
const MOST_ADDED = MOVED_AT_ONCE * PARTS.length

type Stored = SharedRows<StoredState, ServingSummary>

/** `now`: returns ms since 1970. */
export const openIndexState = (stored: Stored, now: () => number): SharedIndexState => ({
  read: (scope = {}) => readIndexState(stored, scope),
  async change(change, scope = {}) {
    const more: RowName[] = []
    for (let attempt = 1; ; ) {
      const known = await readKnownState(stored, scope, more)
      const { number } = known.root
      const before = stateOf(known)
      const value = change(before)
      // A summary is outdated after a write of an earlier release.
      if (value === before && !known.root.isForeign) return { number, value }
      const { missing, ...write } = writeOf(known, before, value, now())
      if (missing.length > 0) more.push(...missing)
      else if (await stored.write(known.root, write)) return { number: number + 1, value }
      else await stored.pause(attempt++)
    }
  },
})

/**
 * Moves parts of tenants that are still in the root to rows. Does nothing while all fits into the root. `isLate`: whether the rest waits for
 * the next call. A root of 300 kB takes minutes.
 */
export async function moveTenantParts(state: SharedIndexState, isLate: () => boolean = () => false): Promise<void> {
  const { value, isForeign } = await state.read()
  // A write divides the root if it is full, and renews the summary after a write of an earlier release.
  if (isForeign || !value.rows) await state.change((before) => (isForeign || !fits(encode(before)) ? { ...before } : before))
  for (;;) {
    const { value } = await state.read()
    const all = new Set(PARTS.flatMap((part) => value[part].map(({ tenant }) => tenant)))
    all.delete(ALL_TENANTS)
    const tenants = [...all].slice(0, MOVED_AT_ONCE)
    if (!value.rows || tenants.length === 0) return
    await state.change((before) => ({ ...before }), { definitions: tenants, poisoned: tenants, rebuilds: tenants })
    if (isLate()) return
  }
}

/** Returns what a change writes. `missing`: rows that must be read first, because it changes entries of them. */
function writeOf(
  known: KnownState,
  before: IndexState,
  after: IndexState,
  now: number,
): SharedWrite<StoredState, ServingSummary> & { readonly missing: readonly RowName[] } {
  const next = encode(after)
  const divided = before.rows || isFull(next, now) ? inRows(known, before, next) : undefined
  const isDivided = divided !== undefined && (before.rows || divided.missing.length <= MOST_AT_FIRST)
  const { root, rows, missing } = isDivided ? divided : { root: next, rows: [], missing: [] }
  const summary = summaryOf(root)
  const isSame = rows.length === 0 && !known.root.isForeign && known.root.number > 0 && isSameJson(summary, summaryOf(known.root.value))
  return { missing, root, rows, ...(isSame ? {} : { summary }) }
}

const isFull = (stored: StoredState, now: number): boolean => stored.rowsFrom !== undefined && now >= stored.rowsFrom && !fits(stored)

/** Whether the parts of all tenants fit into the root, and their definitions into the summary. */
const fits = (stored: StoredState): boolean =>
  isRoomFor(stored, MOST_IN_ROOT) && isRoomFor(encodeSummary(decode(stored), true), MOST_IN_SUMMARY)

/**
 * Divides the state among the root and the rows. Entries stay in the root if they have not changed and their row was not read. Rebuilds for
 * all tenants always stay, so that an earlier release continues them.
 */
function inRows(known: KnownState, before: IndexState, next: StoredState) {
  const rows: NamedRow[] = []
  const missing: RowName[] = []
  const fields = new FieldChanges()
  const taken = next.rebuilds.flatMap(({ type, taken: attempt }) => (attempt === undefined ? [] : [[type, attempt] as const]))
  const whole: StoredState = { ...next, rows: true, ...(before.rows ? {} : { attempts: Object.fromEntries(taken) }) }
  const rest = { definitions: [], poisoned: [], rebuilds: [] } as { [Part in PartName]: TenantEntry[] }
  for (const part of PARTS) {
    const [was, is] = [byOwner(before[part]), byOwner(next[part])]
    for (const owner of new Set([...was.keys(), ...is.keys()])) {
      const name = { kind: KINDS[part], owner }
      const row = known.rows.get(nameOfRow(name))
      const entries = is.get(owner) ?? []
      const isAdded = row !== undefined && row.value === undefined
      if (owner === ALL_TENANTS || (isAdded && rows.length >= MOST_ADDED)) rest[part].push(...entries)
      else if (row === undefined) {
        if (isSameList(was.get(owner) ?? [], entries)) rest[part].push(...entries)
        else missing.push(name)
      } else if (!isSameJson(decodeRow(part, owner, row.value, whole), entries)) {
        const value = entries.length === 0 ? undefined : encodeRow(part, entries, whole)
        rows.push({ ...name, value })
        if (part !== 'definitions') continue
        fields.add(mappingsIn(row.value), -1)
        fields.add(mappingsIn(value), 1)
      }
    }
  }
  for (const owner of fields.owners()) {
    const name = { kind: FIELDS_KIND, owner }
    const row = known.rows.get(nameOfRow(name))
    if (row === undefined) missing.push(name)
    else rows.push({ ...name, value: fields.applyTo(owner, (row.value ?? {}) as FieldCounts) })
  }
  return { root: { ...whole, ...rest } as StoredState, rows, missing }
}

/** Whether two values are the same JSON, apart from the order of names. A name without a value counts as absent. */
function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [a, b] = [one, other] as readonly Readonly<Record<string, unknown>>[]
  return [...new Set([...Object.keys(a!), ...Object.keys(b!)])].every((name) => isSameJson(a![name], b![name]))
}

const isSameList = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, i) => each === other[i])

function summaryOf(stored: StoredState): ServingSummary {
  const state = decode(stored)
  const whole = encodeSummary(state, true)
  return isRoomFor(whole, MOST_IN_SUMMARY) ? whole : encodeSummary(state, false)
}

/** Tenants that one change of many tenants names. Their rows, and those of the index fields, fit into one write. */
const MOST_TENANTS = 15

/**
 * Changes the state for entries of any number of tenants, those of a few tenants at a time. `change` is called with entries of some tenants.
 * Returns the state after the last change, with the definitions of all these tenants if `parts` has them.
 */
export async function changeByTenant<Entry extends { readonly tenant: string }>(
  state: Pick<SharedIndexState, 'change'>,
  entries: readonly Entry[],
  change: (state: IndexState, entries: readonly Entry[]) => IndexState,
  parts: readonly PartName[],
): Promise<VersionedValue<IndexState>> {
  const byTenant = [...Map.groupBy(entries, ({ tenant }) => tenant)]
  let last: VersionedValue<IndexState> | undefined
  const definitions = new Set<CustomParameter>()
  for (let i = 0; last === undefined || i < byTenant.length; i += MOST_TENANTS) {
    const some = byTenant.slice(i, i + MOST_TENANTS)
    const tenants = some.map(([tenant]) => tenant)
    const mine = some.flatMap(([, each]) => each)
    last = await state.change((each) => change(each, mine), Object.fromEntries(parts.map((part) => [part, tenants])))
    for (const each of last.value.definitions) if (each.tenant === ALL_TENANTS || tenants.includes(each.tenant)) definitions.add(each)
  }
  return byTenant.length <= MOST_TENANTS ? last : { ...last, value: { ...last.value, definitions: [...definitions] } }
}
