/** The steps of the rebuild workflow (workflow.ts). Each may be repeated; what they pass on holds types and cursors, never content. */
import type { ExpressionRunner } from '../ports/expression-runner.ts'
import type { KnownTenants } from '../ports/known-tenants.ts'
import type { ResourceReader, ResourceVersion, ScanRequest } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import type { Reading, ReadingOf } from '../search/reading.ts'
import { byWeight, documentsOf } from './index-changes.ts'
import { advanced, afterTry, finished, type IndexState, type SharedState, taken, takenBy } from './index-state.ts'
import { isLacking, whole } from './live-indices.ts'
import type { PoisonList } from './poison-list.ts'
import { readAhead } from './read-ahead.ts'
import { Readings } from './reading-now.ts'

/** The next index of a type, filled beside the live one. */
export type NextIndex = {
  readonly name: string
  readonly identity: string
  readonly apply: (documents: readonly IndexDocument[]) => Promise<void>
  readonly swap: () => Promise<void>
  readonly discard: () => Promise<void>
}

/** The index of each type has the documents of all tenants. */
export type RebuiltIndices = {
  /** Begins the next index of a type, or, with its name, goes on with it. */
  readonly rebuild: (type: string, name?: string) => Promise<NextIndex>
  /** Where they are, also where that version is there already. */
  readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
  /** From now on searches see what was applied. */
  readonly show: (type: string) => Promise<void>
}

export type RebuildParts = {
  readonly state: SharedState
  readonly resources: Pick<ResourceReader, 'extent' | 'scan'> & KnownTenants
  readonly index: RebuiltIndices
  readonly reading: Reading
  readonly expressions: ExpressionRunner
  readonly now: () => number
  /** Seconds after which no function works with older definitions. */
  readonly wait: number
  /** Milliseconds a step may go on filling. */
  readonly budget: number
  /** Gets what cannot be indexed. */
  readonly poisoned: Pick<PoisonList, 'addVersion' | 'save'>
  /** Those of definitions come to be found by their canonicals, whenever they were written. */
  readonly define: (versions: readonly ResourceVersion[]) => Promise<void>
}

/** `attempt`: what was taken together. */
type OfType = { readonly type: string; readonly attempt: string }
/** Of each tenant, one after the other, the versions with lastUpdated > since and ≤ until. */
type Segment = OfType & {
  /** Name of the next index. Empty: documents are made again where they are. */
  readonly next: string
  readonly since?: number
  readonly until?: number
  readonly asOf?: number
  /** Where it goes on. */
  readonly tenant?: string
  readonly cursor?: string
}

export type StepInput =
  | { readonly action: 'take'; readonly execution: string }
  | ({ readonly action: 'open' } & OfType)
  | { readonly action: 'fill'; readonly segment: Segment }
  | ({ readonly action: 'swap'; readonly next: string } & OfType)

const SEGMENTS = 4
/** Places between two cuts. */
const CUT_EVERY = 5_000
/** By whose resources a type is cut. */
const TENANTS_CUT = 20
const PAGE = 500

export const rebuildStep = (parts: RebuildParts) => (input: StepInput) => {
  switch (input.action) {
    case 'take':
      return take(parts, input.execution)
    case 'open':
      return open(parts, input)
    case 'fill':
      return fill(parts, input.segment)
    case 'swap':
      return swap(parts, input)
  }
}

async function take({ state, now, wait }: RebuildParts, execution: string) {
  const { value } = await state.change((each) => taken(each, execution, now()))
  const [first] = value.worker?.execution === execution ? value.rebuilds : []
  const attempt = first?.taken ?? ''
  const types = [...new Set(takenBy(value, attempt).map(({ type }) => type))].map((type): OfType => ({ type, attempt }))
  return { pending: types.length > 0, wait, types }
}

/**
 * A new index has no documents: what an older attempt left was made with older definitions. In place nobody has to know of it first. A type
 * that lacks its index gets one, even an empty one: what was written meanwhile went nowhere else.
 */
async function open(parts: RebuildParts, { type, attempt }: OfType) {
  const { value } = await parts.state.read()
  const rebuilds = takenBy(value, attempt).filter((each) => each.type === type)
  const isNew = rebuilds.some(({ inPlace }) => inPlace === undefined)
  const tenants = isNew ? parts.resources.tenants() : rebuilds.map(({ tenant }) => tenant)
  const isNeeded = isNew && isLacking(value, type)
  if (!isNeeded && !(await hasAny(parts, tenants, type))) return { type, attempt, isEmpty: true, next: '', wait: 0, segments: [] }
  if (isNew) await (await parts.index.rebuild(type)).discard()
  const next = isNew ? (await parts.index.rebuild(type)).name : ''
  const cuts = await cutsOf(parts, isNew ? parts.resources.tenants() : tenants, type)
  const segments = [undefined, ...cuts].map((since, i): Segment => ({ type, attempt, next, ...within(since, cuts[i]) }))
  return { type, attempt, isEmpty: false, next, wait: isNew ? parts.wait : 0, segments }
}

async function hasAny({ resources, now }: RebuildParts, tenants: AsyncIterable<string> | Iterable<string>, type: string): Promise<boolean> {
  const one = { type, asOf: now(), deletions: true, limit: 1 }
  for await (const tenant of tenants)
    for await (const { versions } of resources.scan({ ...one, tenant })) if (versions.length > 0) return true
  return false
}

/** Instants that cut what there is of a type into about equal segments: at most as many as run at once. */
async function cutsOf({ resources, now }: RebuildParts, tenants: AsyncIterable<string> | Iterable<string>, type: string) {
  const all: number[] = []
  let looked = 0
  for await (const tenant of tenants) {
    if (++looked > TENANTS_CUT) break
    all.push(...(await resources.extent({ tenant, type, asOf: now() }, CUT_EVERY)).cuts)
  }
  const rising = [...new Set(all)].toSorted((a, b) => a - b)
  const chosen = Array.from({ length: SEGMENTS - 1 }, (_, i) => rising[Math.floor(((i + 1) * rising.length) / SEGMENTS)])
  return [...new Set(chosen)].filter((cut) => cut !== undefined)
}

const within = (since: number | undefined, until: number | undefined) => ({
  ...(since === undefined ? {} : { since }),
  ...(until === undefined ? {} : { until }),
})

/** As many pages as there is time for. What is written meanwhile the function that follows the stream applies to both indices. */
async function fill(parts: RebuildParts, segment: Segment): Promise<Segment & { readonly more: boolean }> {
  const { state, resources, now } = parts
  const { tenant: _, cursor: __, asOf = now(), ...rest } = segment
  const { value } = await state.read()
  if (!isWanted(value, segment)) return { ...segment, more: false }
  const readings = new Readings(parts.reading, 'documents')
  const filling: Filling = { reading: (tenant) => readings.of(value, tenant), apply: await applierOf(parts, segment) }
  const until = now() + parts.budget
  const counts = new Map<string, number>()
  const save = () => state.change((each) => advanced(each, segment.attempt, segment.type, counts, now()))
  const goesOn = async (tenant: string, cursor?: string) => {
    await save()
    return { ...rest, asOf, tenant, ...(cursor === undefined ? {} : { cursor }), more: true }
  }
  let hasBegun = false
  for await (const tenant of tenantsFrom(parts, segment, value)) {
    if (hasBegun && now() >= until) return goesOn(tenant)
    hasBegun = true
    for await (const { versions, cursor } of resources.scan(scanOf(segment, tenant, asOf))) {
      await fillPage(parts, filling, versions)
      counts.set(tenant, (counts.get(tenant) ?? 0) + versions.length)
      if (cursor !== undefined && now() >= until) return goesOn(tenant, cursor)
    }
  }
  await save()
  return { ...rest, asOf, more: false }
}

const applierOf = async ({ index }: RebuildParts, { type, next }: Segment): Promise<NextIndex['apply']> =>
  next === '' ? (documents) => index.applyAgain(documents) : (await index.rebuild(type, next)).apply

/** Those whose documents it makes, from where it stands: all there are for a new index, in the order of the store. */
async function* tenantsFrom({ resources }: RebuildParts, { next, attempt, type, tenant: first }: Segment, state: IndexState) {
  if (next === '') {
    const wanted = takenBy(state, attempt).filter((each) => each.type === type)
    yield* wanted
      .map(({ tenant }) => tenant)
      .filter((tenant) => first === undefined || tenant >= first)
      .toSorted()
    return
  }
  let hasCome = first === undefined
  for await (const tenant of resources.tenants()) {
    hasCome ||= tenant === first
    if (hasCome) yield tenant
  }
}

function scanOf({ type, since, until, tenant: begun, cursor }: Segment, tenant: string, asOf: number): ScanRequest {
  const request = { tenant, type, asOf, limit: PAGE, ...within(since, until) }
  return tenant === begun && cursor !== undefined ? { ...request, cursor } : request
}

type Filling = { readonly reading: ReadingOf; readonly apply: NextIndex['apply'] }

async function fillPage(
  { state, expressions, poisoned, define }: RebuildParts,
  { reading, apply }: Filling,
  versions: readonly ResourceVersion[],
): Promise<void> {
  await state.change((each) => versions.reduce(afterTry, each))
  await define(versions)
  for (const some of byWeight(versions)) {
    const read = await readAhead(some, reading, expressions)
    await apply(documentsOf(some, reading, poisoned.addVersion, read))
  }
  await poisoned.save()
}

/** The new index answers from now on, or what was made again in place; and what was built is searched by. */
async function swap({ state, index }: RebuildParts, { type, attempt, next }: Extract<StepInput, { action: 'swap' }>) {
  if (!isWanted((await state.read()).value, { type, attempt })) return {}
  if (next === '') {
    await index.show(type)
    await state.change((each) => finished(each, attempt, type))
    return {}
  }
  const built = await index.rebuild(type, next)
  await built.swap()
  await state.change((each) => finished(whole(each, type, built.identity), attempt, type))
  return {}
}

/** False: something else is wanted of the type since, and is done next. */
const isWanted = (state: IndexState, { type, attempt }: OfType): boolean => takenBy(state, attempt).some((each) => each.type === type)
