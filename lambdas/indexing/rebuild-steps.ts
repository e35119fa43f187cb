/** The steps of the rebuild workflow (workflow.ts). Each may be repeated; what they pass on holds types and cursors, never content. */
import type { ExpressionRunner } from '../ports/expression-runner.ts'
import type { KnownTenants } from '../ports/known-tenants.ts'
import type { ResourceReader, ScanPage } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import type { Reading, ReadingOf } from '../search/reading.ts'
import { documentsOf } from './index-changes.ts'
import { advanced, afterTry, finished, type IndexState, type SharedState, taken, takenBy } from './index-state.ts'
import type { PoisonList } from './poison-list.ts'
import { readAhead } from './read-ahead.ts'
import { Readings } from './reading-now.ts'

/** The next index of a type, filled beside the live one. */
export type NextIndex = {
  readonly name: string
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
  readonly resources: Pick<ResourceReader, 'scan'> & KnownTenants
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
}

/** `attempt`: what was taken together. */
type OfType = { readonly type: string; readonly attempt: string }
/** A part of the resources of each tenant, one tenant after the other. */
type Segment = OfType & {
  /** Name of the next index. Empty: documents are made again where they are. */
  readonly next: string
  readonly index: number
  readonly of: number
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

/** A new index has no documents: what an older attempt left was made with older definitions. In place nobody has to know of it first. */
async function open(parts: RebuildParts, { type, attempt }: OfType) {
  const rebuilds = takenBy((await parts.state.read()).value, attempt).filter((each) => each.type === type)
  const isNew = rebuilds.some(({ inPlace }) => inPlace === undefined)
  const tenants = isNew ? parts.resources.tenants() : rebuilds.map(({ tenant }) => tenant)
  if (!(await hasAny(parts, tenants, type))) return { type, attempt, isEmpty: true, next: '', wait: 0, segments: [] }
  if (isNew) await (await parts.index.rebuild(type)).discard()
  const next = isNew ? (await parts.index.rebuild(type)).name : ''
  const segments = Array.from({ length: SEGMENTS }, (_, i): Segment => ({ type, attempt, next, index: i, of: SEGMENTS }))
  return { type, attempt, isEmpty: false, next, wait: isNew ? parts.wait : 0, segments }
}

async function hasAny({ resources, now }: RebuildParts, tenants: AsyncIterable<string> | Iterable<string>, type: string): Promise<boolean> {
  const one = { type, asOf: now(), segment: { index: 0, of: 1 }, limit: 1 }
  for await (const tenant of tenants) if (!isNothing(await resources.scan({ ...one, tenant }))) return true
  return false
}

/** Nothing at all: a page of deletions has no versions either, but goes on. */
const isNothing = ({ versions, cursor }: ScanPage): boolean => versions.length === 0 && cursor === undefined

/** As many pages as there is time for. What is written meanwhile the function that follows the stream applies to both indices. */
async function fill(parts: RebuildParts, segment: Segment): Promise<Segment & { readonly more: boolean }> {
  const { state, now } = parts
  const { tenant: _, cursor: __, asOf = now(), ...rest } = segment
  const { value } = await state.read()
  const readings = new Readings(parts.reading, 'documents')
  const filling: Filling = { ...rest, asOf, reading: (tenant) => readings.of(value, tenant), apply: await applierOf(parts, segment) }
  const until = now() + parts.budget
  const counts = new Map<string, number>()
  const save = () => state.change((each) => advanced(each, segment.attempt, segment.type, counts, now()))
  for await (const tenant of tenantsFrom(parts, segment, value)) {
    let cursor = tenant === segment.tenant ? segment.cursor : undefined
    do {
      if (counts.size > 0 && now() >= until) {
        await save()
        return { ...rest, asOf, tenant, ...(cursor === undefined ? {} : { cursor }), more: true }
      }
      const page = await fillPage(parts, filling, tenant, cursor)
      counts.set(tenant, (counts.get(tenant) ?? 0) + page.versions.length)
      cursor = page.cursor
    } while (cursor !== undefined)
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

type Filling = Pick<Segment, 'type' | 'index' | 'of'> & {
  readonly asOf: number
  readonly reading: ReadingOf
  readonly apply: NextIndex['apply']
}

async function fillPage(
  { resources, state, expressions, poisoned }: RebuildParts,
  { type, index, of, asOf, reading, apply }: Filling,
  tenant: string,
  cursor: string | undefined,
): Promise<ScanPage> {
  const page = await resources.scan({
    tenant,
    type,
    segment: { index, of },
    asOf,
    limit: PAGE,
    ...(cursor === undefined ? {} : { cursor }),
  })
  await state.change((each) => page.versions.reduce(afterTry, each))
  const read = await readAhead(page.versions, reading, expressions)
  await apply(documentsOf(page.versions, reading, poisoned.addVersion, read))
  await poisoned.save()
  return page
}

/** The new index answers from now on, or what was made again in place; and what was built is searched by. */
async function swap({ state, index }: RebuildParts, { type, attempt, next }: Extract<StepInput, { action: 'swap' }>) {
  const isWanted = takenBy((await state.read()).value, attempt).some((each) => each.type === type)
  if (!isWanted) return {}
  if (next === '') await index.show(type)
  else await (await index.rebuild(type, next)).swap()
  await state.change((each) => finished(each, attempt, type))
  return {}
}
