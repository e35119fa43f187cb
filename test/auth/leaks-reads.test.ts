/**
 * Reads, versions and histories of everything there is, by everybody: each answer is what the oracle says, has nothing of what is hidden, and a
 * resource that may not be seen is answered as one that never was.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { LeakCheck } from './leak-check.ts'
import { inScope, type Kept, sees, seesAll, seesType, type Who } from './oracle.ts'
import { type Population, populate, TENANTS } from './population.ts'
import { type Answer, BASE, openSite, operatorOf, type Site } from './site.ts'
import { nameOfWho, sampled, WHOS } from './whos.ts'

const FULL = process.env.FHIR_TEST_FULL === '1'
let site: Site
let population: Population
let check: LeakCheck

beforeAll(async () => {
  site = await openSite()
  population = await populate(site.ask)
  check = new LeakCheck(population)
})
afterAll(() => site.close())

type Cell = { readonly target: string; readonly headers?: Record<string, string>; readonly expected: (who: Who) => number }

/** One who reads it might be asked about, as it stands in the tenant of who asks. */
function readsOf({ tenant, type, id, versions }: Kept): readonly Cell[] {
  const at = (who: Who): Kept => population.find(who.tenant, `${type}/${id}`)!
  const isSeen = (who: Who, version: number): boolean => {
    const kept = at(who)
    return kept.versions[version] !== undefined && sees(who, 'r', kept, kept.versions[version], population.find)
  }
  const guarded = (answer: (who: Who) => number) => (who: Who) => (inScope(who, type, 'r') ? answer(who) : 403)
  const read = guarded((who) => (isSeen(who, versions.length - 1) && versions.at(-1)!.json !== undefined ? 200 : 404))
  const cached = guarded((who) => (read(who) === 200 ? 304 : 404))
  const cells: Cell[] = [
    { target: `/${type}/${id}`, expected: read },
    { target: `/${type}/${id}?_summary=true&_pretty=true`, expected: read },
    { target: `/${type}/${id}`, headers: { 'if-none-match': '*' }, expected: cached },
    { target: `/${type}/${id}`, headers: { 'if-none-match': `W/"${versions.length}"` }, expected: cached },
    { target: `/${type}/${id}/_history`, expected: guarded((who) => (at(who).versions.some((_, i) => isSeen(who, i)) ? 200 : 404)) },
    {
      target: `/${type}/${id}/_history?_count=1`,
      expected: guarded((who) => (at(who).versions.some((_, i) => isSeen(who, i)) ? 200 : 404)),
    },
    { target: `/${type}/${id}/_history/${versions.length + 1}`, expected: guarded(() => 404) },
    ...versions.map(
      ({ json }, i): Cell => ({
        target: `/${type}/${id}/_history/${i + 1}`,
        expected: guarded((who) => (!isSeen(who, i) ? 404 : json === undefined ? 410 : 200)),
      }),
    ),
  ]
  if (type === 'Binary') cells.push({ target: `/${type}/${id}`, headers: { accept: 'text/plain' }, expected: read })
  return tenant === TENANTS[0] ? cells : []
}

const ofTypes = (): readonly Cell[] => [
  ...['Patient', 'Observation', 'Device', 'Group', 'Organization', 'Binary', 'Questionnaire'].map(
    (type): Cell => ({
      target: `/${type}/_history`,
      expected: (who) => (seesType(who, type, 's') ? 200 : 403),
    }),
  ),
  { target: '/_history', expected: (who) => (seesAll(who, 's') ? 200 : 403) },
  { target: '/metadata', expected: () => 200 },
  { target: '/Observation/never.id', expected: (who) => (inScope(who, 'Observation', 'r') ? 404 : 403) },
  { target: '/$reindex-status', expected: (who) => (who.scopes.includes('system/admin') ? 200 : 403) },
]

/** What is hidden reads as what never was, byte for byte. */
function unknownOf({ target }: Cell): string {
  return target.replace(/[\w-]+\.id/, 'never.id')
}

const bytesOf = ({ text, headers }: Answer, target: string): string =>
  `${text} ${JSON.stringify({ ...headers, 'x-request-id': '' })}`.replaceAll(/[\w-]+\.id/g, target)

it(
  'shows to everybody what they may see, and tells nothing of anything else',
  async () => {
    const cells = [...population.all(TENANTS[0]).flatMap(readsOf), ...ofTypes()]
    const wrong: string[] = []
    let asked = 0
    for (const [i, who] of WHOS.entries())
      for (const cell of sampled(cells, FULL ? 16 : 160, i)) {
        const { target, headers = {} } = cell
        const answer = await site.ask(who, 'GET', target, { headers })
        const expected = cell.expected(who)
        const leaks = check.leaksIn(answer, who, target)
        asked++
        if (answer.status !== expected || leaks.length > 0)
          wrong.push(`${nameOfWho(who)}: ${target} ${JSON.stringify(headers)}: ${answer.status}, not ${expected}; ${leaks}`)
        if (expected !== 404 || !target.includes('.id')) continue
        const never = await site.ask(who, 'GET', unknownOf(cell), { headers })
        const isDeleted = answer.text.includes('"deleted"')
        if (!isDeleted && bytesOf(answer, 'x') !== bytesOf(never, 'x'))
          wrong.push(`${nameOfWho(who)}: ${target} is not as ${unknownOf(cell)}`)
      }
    expect(wrong.slice(0, 20)).toEqual([])
    expect(asked).toBeGreaterThan(FULL ? 10_000 : 1_000)
  },
  5 * 60_000,
)

it('tells of a deletion whom the deleted was about, and nobody else', async () => {
  const patient = { tenant: 'north', client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
  const codeOf = async (target: string) => (await site.ask(patient, 'GET', target)).body.issue[0].code
  expect(await codeOf('/Observation/own-deleted.id')).toBe('deleted')
  expect(await codeOf('/Observation/other-deleted.id')).toBe('not-found')
  expect(await codeOf('/Patient/gone.id')).toBe('not-found')
})

it('shows of a history the versions that were about the patient', async () => {
  for (const tenant of TENANTS) {
    const patient = { tenant, client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
    const etags = async (target: string) =>
      (await site.ask(patient, 'GET', target)).body.entry.map(({ response }: { response: { etag: string } }) => response.etag)
    expect(await etags('/Observation/to-and-fro.id/_history')).toEqual(['W/"4"', 'W/"3"', 'W/"1"'])
    const pages = []
    let target: string | undefined = '/Observation/to-and-fro.id/_history?_count=1'
    while (target !== undefined) {
      const { body } = await site.ask(patient, 'GET', target)
      pages.push(body.entry.map(({ response }: { response: { etag: string } }) => response.etag).join())
      target = body.link.find(({ relation }: { relation: string }) => relation === 'next')?.url.slice(BASE.length)
    }
    expect(pages).toEqual(['W/"4"', 'W/"3"', 'W/"1"'])
  }
})

it('writes down who asked for what, and what came of it', async () => {
  const who = { tenant: 'north', client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
  site.audited.length = 0
  await site.ask(who, 'GET', '/Observation/other-lab.id')
  await site.ask(operatorOf('north'), 'GET', '/Observation?_tag=odd')
  expect(site.audited).toMatchObject([
    { tenant: 'north', client: 'app', patient: 'a.id', scopes: 'patient/*.rs', key: 'Observation/other-lab.id', status: 404 },
    { tenant: 'north', client: 'operator', interaction: 'search-type', status: 200 },
  ])
  expect(JSON.stringify(site.audited)).not.toMatch(/MARK|_tag/)
})
