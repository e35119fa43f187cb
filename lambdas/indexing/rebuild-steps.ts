/** The steps of the rebuild workflow (workflow.ts). Each may be repeated; what they pass on holds types and cursors, never content. */
import type { ExpressionRunner } from '../ports/expression-runner.ts'
import type { ResourceReader, ScanPage } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import type { Reading } from '../search/reading.ts'
import { documentsOf } from './index-changes.ts'
import { advanced, afterTry, finished, type SharedState, taken, takenBy } from './index-state.ts'
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

export type RebuildParts = {
  readonly state: SharedState
  readonly resources: Pick<ResourceReader, 'scan'>
  /** Begins the next index of a type, or, with its name, goes on with it. */
  readonly index: { readonly rebuild: (type: string, name?: string) => Promise<NextIndex> }
  readonly reading: Reading
  readonly expressions: ExpressionRunner
  readonly tenants: readonly string[]
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
type Segment = OfType & {
  readonly tenant: string
  /** Name of the next index. */
  readonly next: string
  readonly index: number
  readonly of: number
  readonly asOf?: number
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

/** A new index without any documents: what an older attempt left was made with older definitions. */
async function open({ resources, index, tenants, now, wait }: RebuildParts, { type, attempt }: OfType) {
  const one = { type, asOf: now(), segment: { index: 0, of: 1 }, limit: 1 }
  const firsts = await Promise.all(tenants.map((tenant) => resources.scan({ ...one, tenant })))
  if (firsts.every(isNothing)) return { type, attempt, isEmpty: true, next: '', wait, segments: [] }
  await (await index.rebuild(type)).discard()
  const { name: next } = await index.rebuild(type)
  const segments = tenants.flatMap((tenant) =>
    Array.from({ length: SEGMENTS }, (_, i): Segment => ({ type, attempt, next, tenant, index: i, of: SEGMENTS })),
  )
  return { type, attempt, isEmpty: false, next, wait, segments }
}

/** Nothing at all: a page of deletions has no versions either, but goes on. */
const isNothing = ({ versions, cursor }: ScanPage): boolean => versions.length === 0 && cursor === undefined

/** As many pages as there is time for. What is written meanwhile the function that follows the stream applies to both indices. */
async function fill(parts: RebuildParts, segment: Segment): Promise<Segment & { readonly more: boolean }> {
  const { state, resources, index, expressions, now, poisoned } = parts
  const { tenant, type, attempt, asOf = now() } = segment
  const readings = new Readings(parts.reading, 'documents')
  const { value } = await state.read()
  const reading = (tenant: string) => readings.of(value, tenant)
  const next = await index.rebuild(type, segment.next)
  const until = now() + parts.budget
  let { cursor } = segment
  let count = 0
  do {
    const page = await resources.scan({ tenant, type, segment, asOf, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) })
    await state.change((each) => page.versions.reduce(afterTry, each))
    const read = await readAhead(page.versions, reading, expressions)
    await next.apply(documentsOf(page.versions, reading, poisoned.addVersion, read))
    await poisoned.save()
    count += page.versions.length
    cursor = page.cursor
  } while (cursor !== undefined && now() < until)
  await state.change((each) => advanced(each, attempt, type, count, now()))
  const { cursor: _, ...rest } = segment
  return cursor === undefined ? { ...rest, more: false } : { ...rest, asOf, cursor, more: true }
}

/** The new index answers from now on, and what it was built for is searched by. */
async function swap({ state, index }: RebuildParts, { type, attempt, next }: Extract<StepInput, { action: 'swap' }>) {
  const isWanted = takenBy((await state.read()).value, attempt).some((each) => each.type === type)
  if (!isWanted) return {}
  if (next !== '') await (await index.rebuild(type, next)).swap()
  await state.change((each) => finished(each, attempt, type))
  return {}
}
