/**
 * Writes by everybody, alone and in Bundles: each is answered as the oracle says, nothing is said of what is hidden, and in the end there is what
 * the oracle wrote and nothing else.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { caseCountOf, firstSeed, isFullRun } from '../../fixtures/long-runs.ts'
import { openSite, type Site } from '../site.ts'
import { Population, TENANTS } from './population.ts'
import { CALLERS, nameOfCaller } from './whos.ts'
import { CELLS, type WriteCase } from './writes.ts'
import { findFinalErrors, findWriteErrors, prepareWrites, SEND_MODES, type WritableSite, writeCaseOf } from './written.ts'

const EACH = caseCountOf(1, 4)
const WHO = isFullRun ? CALLERS : CALLERS.filter((_, i) => (i + firstSeed()) % 2 === 0)

let site: Site
let world: WritableSite
let asked: readonly WriteCase[]

beforeAll(async () => {
  site = await openSite()
  const population = new Population()
  world = { ask: site.ask, population }
  // Another prime than any number of shapes: everybody gets other cells.
  asked = WHO.flatMap((who, i) =>
    Array.from({ length: EACH }, (_, j) =>
      writeCaseOf(population, who, CELLS[((i * EACH + j) * 397 + firstSeed()) % CELLS.length]!, `${i}-${j}`),
    ),
  )
  await prepareWrites(world, asked)
})
afterAll(() => site.close())

it(
  'a client neither writes nor learns by writing anything it has no access to',
  async () => {
    const all: string[] = []
    const statuses = new Map<number, number>()
    for (const [i, each] of asked.entries()) {
      const { status, wrong } = await findWriteErrors(world, each, SEND_MODES[i % SEND_MODES.length]!)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      for (const line of wrong) all.push(`${nameOfCaller(each.who)}: ${line}`)
    }
    expect(all.slice(0, 15)).toEqual([])
    expect(asked.length).toBeGreaterThan(isFullRun ? 3_000 : 400)
    for (const status of [200, 201, 204, 403, 404, 412]) expect(statuses.get(status)).toBeGreaterThan(0)
  },
  5 * 60_000,
)

it.each(TENANTS)('the store holds only the allowed writes in %s', async (tenant) => {
  expect(await findFinalErrors(world, tenant)).toEqual([])
})
