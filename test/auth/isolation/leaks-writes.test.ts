/**
 * Writes by everybody, alone and in Bundles: each is answered as the oracle says, nothing is said of what is hidden, and in the end there is what
 * the oracle wrote and nothing else.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { firstSeed, isWhole, timesOf } from '../../fixtures/long-runs.ts'
import { openSite, type Site } from '../site.ts'
import { Population, TENANTS } from './population.ts'
import { nameOfWho, WHOS } from './whos.ts'
import { type Asked, CELLS } from './writes.ts'
import { askedAbout, prepare, WAYS, type Writable, wrongInTheEnd, wrongOfWrite } from './written.ts'

const EACH = timesOf(1, 4)
const WHO = isWhole ? WHOS : WHOS.filter((_, i) => (i + firstSeed()) % 2 === 0)

let site: Site
let world: Writable
let asked: readonly Asked[]

beforeAll(async () => {
  site = await openSite()
  const population = new Population()
  world = { ask: site.ask, population }
  // Another prime than any number of shapes: everybody gets other cells.
  asked = WHO.flatMap((who, i) =>
    Array.from({ length: EACH }, (_, j) =>
      askedAbout(population, who, CELLS[((i * EACH + j) * 397 + firstSeed()) % CELLS.length]!, `${i}-${j}`),
    ),
  )
  await prepare(world, asked)
})
afterAll(() => site.close())

it(
  'a client neither writes nor learns by writing anything it has no access to',
  async () => {
    const all: string[] = []
    const statuses = new Map<number, number>()
    for (const [i, each] of asked.entries()) {
      const { status, wrong } = await wrongOfWrite(world, each, WAYS[i % WAYS.length]!)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      for (const line of wrong) all.push(`${nameOfWho(each.who)}: ${line}`)
    }
    expect(all.slice(0, 15)).toEqual([])
    expect(asked.length).toBeGreaterThan(isWhole ? 3_000 : 400)
    for (const status of [200, 201, 204, 403, 404, 412]) expect(statuses.get(status)).toBeGreaterThan(0)
  },
  5 * 60_000,
)

it.each(TENANTS)('the store holds only the allowed writes in %s', async (tenant) => {
  expect(await wrongInTheEnd(world, tenant)).toEqual([])
})
