/**
 * Exports by everybody, of everything, of all patients and of a Group: they hold all that who asks may see, and nothing else; a job and its files
 * are nobody else's.
 */
import { expect, it } from '@jest/globals'
import { caseStepOf, firstSeed } from '../../fixtures/long-runs.ts'
import { BASE_URL } from '../site.ts'
import { exportableResources, KICK_OFF_HEADERS, linesOf, mayExport, nameOfResource, namesIn, runExport } from './exports.ts'
import { type Caller, currentVersionOf, isInScope, maySee } from './oracle.ts'
import { withPopulatedSite } from './populated.ts'
import { CALLERS, nameOfCaller } from './whos.ts'

const world = withPopulatedSite({ settings: { FHIR_EXPORT_NEEDS_ASSERTION: 'off', FHIR_USER_EXPORTS: 'on' } })

/** Distance between two exporting clients in the list of all. Clients from the first place get every status; the seed moves the second place. */
const EVERY = caseStepOf(79, 7)
const PLACES = [5, (5 + firstSeed()) % EVERY]
const SOME = CALLERS.filter((_, i) => PLACES.includes(i % EVERY))
const GROUP = 'g-both.id'

/** The status a kick-off must have. */
function expectedOf(who: Caller, target: string): number {
  if (!mayExport(who)) return 403
  if (!target.startsWith('/Group')) return 202
  const { find } = world().population
  const group = find(who.tenant, `Group/${GROUP}`)!
  return !isInScope(who, 'Group', 'r') ? 403 : maySee(who, 'r', group, currentVersionOf(group)!, find) ? 202 : 404
}

/** What is about a patient is exported with patients, by whom it is about. */
const isOfPatients = (json: { patient?: { reference?: string } }, about: readonly string[]): boolean =>
  about.length > 0 || json.patient?.reference?.startsWith('Patient/') === true

/** Of all exports. */
let lines = 0

async function wrongOf(who: Caller, target: string): Promise<readonly string[]> {
  const { ask, check, population } = world()
  const exported = await runExport(ask, who, target)
  const answers = [exported.kickOff, exported.poll ?? [], exported.files.map(([, answer]) => answer)].flat()
  const wrong = answers.flatMap((answer) => check.leaksIn(answer, who, target)).map((leak) => `tells of ${leak}`)
  const expected = expectedOf(who, target)
  if (exported.kickOff.status !== expected) return [...wrong, `${exported.kickOff.status}, not ${expected}`]
  if (expected !== 202) return wrong
  if (exported.poll!.status !== 200) return [...wrong, `ended with ${exported.poll!.text}`]
  const all = exportableResources(who, population)
  const must = all.filter(
    (kept) =>
      target === '/$export' || (target === '/Patient/$export' && isOfPatients(currentVersionOf(kept)!.json, currentVersionOf(kept)!.about)),
  )
  const names = namesIn(exported)
  lines += names.length
  const may = new Set(all.map(nameOfResource))
  return [
    ...wrong,
    ...names.filter((name) => !may.has(name)).map((name) => `has ${name}`),
    ...names.filter((name, i) => names[i - 1] === name).map((name) => `has ${name} twice`),
    ...must.map(nameOfResource).flatMap((name) => (names.includes(name) ? [] : [`has no ${name}`])),
  ]
}

it(
  'exports hold all that their client may see, and nothing else',
  async () => {
    const cells = SOME.flatMap((who) => ['/$export', '/Patient/$export', `/Group/${GROUP}/$export`].map((target) => [who, target] as const))
    const wrong: string[] = []
    lines = 0
    const left = [...cells]
    const turns = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const [who, target] = next
        wrong.push(...(await wrongOf(who, target)).map((each) => `${nameOfCaller(who)} ${target}: ${each}`))
      }
    }
    await Promise.all(Array.from({ length: 4 }, turns))
    expect(wrong.slice(0, 20)).toEqual([])
    const statuses = new Set(cells.map(([who, target]) => expectedOf(who, target)))
    expect([...statuses].toSorted()).toEqual([202, 403, 404])
    expect(lines).toBeGreaterThan(200)
  },
  10 * 60_000,
)

const ONLY: Caller = { tenant: 'north', client: 'only', scopes: 'patient/Observation.read' }

it('exports hold only the types of the scope, and report the others', async () => {
  const exported = await runExport(world().ask, ONLY, '/$export?_type=Observation,Condition')
  expect(new Set(linesOf(exported).map(({ resourceType }) => resourceType))).toEqual(new Set(['Observation']))
  expect(exported.files.find(([name]) => name === 'error')![1].text).toContain('Condition')
})

it('an export of a hidden Group is rejected like one of an unknown Group', async () => {
  const who: Caller = { tenant: 'north', client: 'patient', scopes: 'patient/*.rs', patient: 'a.id' }
  const [hidden, never] = await Promise.all(
    [GROUP, 'never.id'].map((id) => world().ask(who, 'GET', `/Group/${id}/$export`, { headers: KICK_OFF_HEADERS })),
  )
  expect(hidden!.status).toBe(404)
  const shown = (answer: object | undefined) => JSON.stringify({ ...answer, headers: '' }).replaceAll(/[\w-]+\.id/g, 'id')
  expect(shown(hidden)).toBe(shown(never))
})

it('exports are bound to client and tenant, and their files to the client', async () => {
  const { ask } = world()
  const mine: Caller = { tenant: 'north', client: 'mine', scopes: 'system/Patient.rs' }
  const { kickOff, poll } = await runExport(ask, mine, '/$export')
  const link = kickOff.headers['content-location']!.slice(BASE_URL.length)
  const file = poll!.body.output[0].url.slice(BASE_URL.length)
  const statuses = async (who: Caller) => {
    const polled = await ask(who, 'GET', link)
    const ended = await ask(who, 'DELETE', link)
    return [polled, ended, await ask(who, 'GET', file)].map(({ status }) => status)
  }
  const everything = { scopes: 'system/*.cruds system/admin' }
  expect(await statuses({ ...mine, client: 'other', ...everything })).toEqual([403, 403, 403])
  expect(await statuses({ ...mine, tenant: 'south', ...everything })).toEqual([404, 404, 200])
  expect(await statuses({ tenant: 'south', client: 'other', ...everything })).toEqual([404, 404, 403])
  const changed = file.replace('Patient.ndjson', 'Observation.ndjson')
  expect((await ask(mine, 'GET', changed)).status).toBe(403)
  expect((await ask({ ...mine, scopes: 'openid' }, 'GET', link)).status).toBe(200)
  expect(await statuses({ ...mine, ...everything })).toEqual([200, 202, 404])
})
