/**
 * A part of the leak matrix of test/auth on the deployed functions, with tokens: every interaction, form of scopes, context and tenant at least
 * once. Also scopes with a condition on a custom parameter, which every function applies.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { OTHER_TENANT_DEFINITIONS, OWN_DEFINITIONS, REQUESTS } from '../auth/isolation/definitions.ts'
import type { Caller, Json } from '../auth/isolation/oracle.ts'
import { type PopulatedSite, populateSite } from '../auth/isolation/populated.ts'
import { applyStep, observation, Population, STEPS, type Step, TENANTS } from '../auth/isolation/population.ts'
import { findReadErrors, type Read, readsOf } from '../auth/isolation/reads.ts'
import { findSearchErrors } from '../auth/isolation/searched.ts'
import { CallerView, type Search, searchesOf } from '../auth/isolation/searches.ts'
import { pairEvenly, spreadOverParts } from '../auth/isolation/spread.ts'
import { CALLERS, nameOfCaller } from '../auth/isolation/whos.ts'
import { nextPageOf, requestsOf } from '../auth/isolation/world-requests.ts'
import { CELLS, type WriteCell } from '../auth/isolation/writes.ts'
import { findFinalErrors, findWriteErrors, prepareWrites, SEND_MODES, writeCaseOf } from '../auth/isolation/written.ts'
import { type CallerRequest, operatorOf, type RequestContent, type TestResponse } from '../auth/site.ts'
import { awsCalls } from './aws-calls.ts'
import type { DeploymentDescription } from './cloud.ts'
import { deployedCallerRequests } from './deployed-callers.ts'
import { hostDeployment } from './hosted-deployment.ts'
import { runOnCloud } from './requested-deployment.ts'
import { runRebuild } from './workers.ts'

/** The machine may be busy. */
jest.setTimeout(5 * 60_000)

const SEED = 14
/** Enough cases that each value occurs. test/auth tries all combinations. */
const COUNTS = { reads: 130, searches: 70, writes: 160, worlds: 40 }
const AT_ONCE = 4

const standingOf = ({ tenant: _, client: __, scopes: ___, ...standing }: Caller): string => JSON.stringify(standing)
const partsOfWho = (who: Caller): readonly string[] => [who.tenant, who.scopes, standingOf(who)]
const whos = (seed: number) => spreadOverParts(CALLERS, seed, partsOfWho)
const shapeOf = ({ target }: Read): string => target.replace(/[\w-]+\.id/, 'id').replace(/(?<=_history\/)\d+/, 'v')
const partsOfCell = ({ kind, before, as }: WriteCell): readonly string[] => [`${kind} ${before}`, as]

/** Expects that each part of all cases occurs among the chosen ones. */
function expectEvery<T>(chosen: readonly T[], all: readonly T[], partsOf: (each: T) => readonly string[]): void {
  expect(new Set(chosen.flatMap(partsOf))).toEqual(new Set(all.flatMap(partsOf)))
}

const WISH = { settings: { FHIR_ACCESS: 'token', FHIR_TENANCY: 'on' }, here: true }

runOnCloud('the leak matrix', WISH, (cloud) => {
  let ask: CallerRequest
  let knownAt: number
  beforeAll(async () => {
    ask = deployedCallerRequests(cloud())
    await defineIn('own', ask, cloud())
    knownAt = Date.now() + KNOWN_EVERYWHERE
  })

  /** Checks all, several at once, and returns the errors. */
  async function wrongOf<T>(all: readonly T[], check: (each: T, at: number) => Promise<readonly string[]>): Promise<readonly string[]> {
    const waiting = [...all.entries()]
    const wrong: string[] = []
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) wrong.push(...(await check(next[1], next[0])))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return wrong
  }

  describe('for the data of two tenants', () => {
    let world: PopulatedSite
    beforeAll(async () => {
      world = await populateSite(ask)
    })

    it('shows each caller the visible resources, and reveals nothing of hidden ones', async () => {
      const reads = spreadOverParts(readsOf(world.population), SEED, (read) => [shapeOf(read)])
      const pairs = pairEvenly(COUNTS.reads, whos(SEED), reads)
      expectEvery(
        pairs.map(([who]) => who),
        CALLERS,
        partsOfWho,
      )
      expectEvery(
        pairs.map(([, read]) => read),
        reads,
        (read) => [shapeOf(read)],
      )
      const wrong = await wrongOf(pairs, async ([who, read]) =>
        (await findReadErrors(world, who, read)).map((each) => `${nameOfCaller(who)}: ${each}`),
      )
      expect(wrong).toEqual([])
      const statuses = new Set(pairs.map(([who, read]) => read.expected(who)))
      expect([...statuses].sort()).toEqual(expect.arrayContaining([200, 403, 404]))
    })

    it('finds and counts for each caller the visible resources only', async () => {
      const searches = new Map<string, readonly Search[]>(TENANTS.map((tenant) => [tenant, searchesOf(tenant)]))
      const order = spreadOverParts([...searches.get(TENANTS[0])!.keys()], SEED, (each) => [String(each)])
      const pairs = pairEvenly(COUNTS.searches, whos(SEED + 1), order)
      expectEvery(
        pairs.map(([who]) => who),
        CALLERS,
        partsOfWho,
      )
      expectEvery(
        pairs.map(([, which]) => which),
        order,
        (which) => [String(which)],
      )
      const wrong = await wrongOf(pairs, async ([who, which], at) => {
        const search = searches.get(who.tenant)![which]!
        const way = search.form === undefined && at % 5 === 0 ? 'in a batch' : 'alone'
        return (await findSearchErrors(world, new CallerView(who, world.population), search, way)).map(
          (each) => `${nameOfCaller(who)} ${each}`,
        )
      })
      expect(wrong).toEqual([])
    })
  })

  it('lets no caller write hidden resources, or learn of them by writing', async () => {
    const world = { ask, population: new Population() }
    const cells = spreadOverParts(CELLS, SEED, partsOfCell)
    const pairs = pairEvenly(COUNTS.writes, whos(SEED + 2), cells)
    expectEvery(
      pairs.map(([who]) => who),
      CALLERS,
      partsOfWho,
    )
    expectEvery(
      pairs.map(([, cell]) => cell),
      CELLS,
      partsOfCell,
    )
    const asked = pairs.map(([who, cell], i) => writeCaseOf(world.population, { ...who, tenant: WRITTEN[who.tenant]! }, cell, String(i)))
    await prepareWrites(world, asked)
    const statuses = new Set<number>()
    const wrong = await wrongOf(asked, async (each, i) => {
      const { status, wrong } = await findWriteErrors(world, each, SEND_MODES[i % SEND_MODES.length]!)
      statuses.add(status)
      return wrong.map((line) => `${nameOfCaller(each.who)}: ${line}`)
    })
    expect(wrong).toEqual([])
    expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 204, 403, 404, 412]))
    for (const tenant of Object.values(WRITTEN)) expect(await findFinalErrors(world, tenant)).toEqual([])
  })

  it('answers a client alike in two tenants that differ in hidden resources only', async () => {
    const who: Caller = { tenant: TENANTS[0], client: 'app', scopes: 'patient/*.cruds', patient: 'a.id' }
    const [whole, part] = ['whole', 'part'].map((tenant): Caller => ({ ...who, tenant })) as [Caller, Caller]
    const { single, hidden } = requestsOf(who, SEED)
    const steps = STEPS.filter(({ tenant }) => tenant === who.tenant)
    await Promise.all([
      taken(steps.map((step) => ({ ...step, tenant: whole.tenant }))),
      taken(steps.filter(({ type, id }) => !hidden.has(`${type}/${id}`)).map((step) => ({ ...step, tenant: part.tenant }))),
    ])
    const different: string[] = []
    const statuses = new Set<number>()
    for (let i = 0; i < COUNTS.worlds; i++) {
      const [method, target, sent] = single()
      let targets: readonly [string, string] = [`/${target}`, `/${target}`]
      for (let page = 0; page < 3; page++) {
        const [first, more] = page === 0 ? [method, sent] : ['GET', {}]
        const [a, b] = await Promise.all([ask(whole, first, targets[0], more), ask(part, first, targets[1], more)])
        statuses.add(a.status)
        if (shown(a) !== shown(b)) different.push(`${method} ${targets[0]} ${JSON.stringify(sent)}\n${shown(a)}\n${shown(b)}`)
        const [after, afterOthers] = [nextPageOf(a), nextPageOf(b)]
        if (method !== 'GET' || after === undefined || afterOthers === undefined) break
        targets = [after, afterOthers]
      }
    }
    expect(different).toEqual([])
    expect(hidden.size).toBeGreaterThan(5)
    expect(statuses.size).toBeGreaterThan(4)
  })

  it('answers a tenant alike, whether or not another tenant has the definitions it names', async () => {
    const stored = async (tenant: string, resources: readonly Json[]): Promise<void> => {
      for (const body of resources)
        expect((await ask(operatorOf(tenant), 'PUT', `/${body.resourceType}/${body.id}`, { body })).status).toBe(201)
    }
    const answersTo = async (tenant: string): Promise<readonly string[]> => {
      await stored(tenant, OWN_DEFINITIONS)
      const answers: string[] = []
      for (const [method, target, sent] of REQUESTS.filter(([method, target]) => !FOLLOWS.test(`${method} ${target}`)))
        answers.push(`${method} ${target}: ${shown(await ask({ tenant, client: 'app', scopes: 'system/*.cruds' }, method, target, sent))}`)
      return answers
    }
    const before = await answersTo('alone')
    await stored('elsewhere', OTHER_TENANT_DEFINITIONS)
    expect(await answersTo('beside')).toEqual(before)
    for (const status of [200, 201, 404, 422]) expect(before.some((each) => each.includes(`: ${status} {`))).toBe(true)
  })

  const taken = async (steps: readonly Step[]): Promise<void> => {
    for (const step of steps) await applyStep(ask, step)
  }

  it('applies a custom parameter of a scope to every interaction of its tenant only', async () => {
    const [here, elsewhere] = ['own', 'other'].map((tenant): Caller => ({ tenant, client: 'app', scopes: 'system/*.cruds?note-author=me' }))
    for (const who of [here!, elsewhere!])
      for (const [id, author] of Object.entries({ mine: 'me', theirs: 'you' }))
        expect((await ask(operatorOf(who.tenant), 'PUT', `/Observation/${id}`, { body: noted(id, author) })).status).toBe(201)
    await wait(Math.max(0, knownAt - Date.now()))
    const patch = { body: Buffer.from('[{"op":"add","path":"/language","value":"de"}]'), headers: JSON_PATCH }
    const asked = (id: string, author: string): Readonly<Record<string, () => readonly [string, string, RequestContent?]>> => ({
      read: () => ['GET', `/Observation/${id}`],
      vread: () => ['GET', `/Observation/${id}/_history/1`],
      history: () => ['GET', `/Observation/${id}/_history`],
      search: () => ['GET', `/Observation?_id=${id}&_summary=count`],
      create: () => ['POST', '/Observation', { body: noted(`${id}-new`, author) }],
      update: () => ['PUT', `/Observation/${id}`, { body: noted(id, author) }],
      patch: () => ['PATCH', `/Observation/${id}`, patch],
      delete: () => ['DELETE', `/Observation/${id}`],
    })
    const answersTo = async (who: Caller, id: string, author: string): Promise<Json> => {
      const answers: Json = {}
      for (const [name, request] of Object.entries(asked(id, author))) {
        const { status, body } = await ask(who, ...request())
        answers[name] = name === 'search' ? body.total : status
      }
      return answers
    }
    const refused = { read: 404, vread: 404, history: 404, search: 0, create: 403, update: 403, patch: 404, delete: 403 }
    expect(await answersTo(elsewhere!, 'mine', 'me')).toEqual(refused)
    expect(await answersTo(here!, 'theirs', 'you')).toEqual(refused)
    expect(await answersTo(here!, 'mine', 'me')).toEqual({
      ...{ read: 200, vread: 200, history: 200, search: 1 },
      ...{ create: 201, update: 200, patch: 200, delete: 204 },
    })
  })
})

/** The response without instants, random ids and sealed cursors. */
const shown = ({ status, headers: { 'x-index-token': _, 'x-request-id': __, ...headers }, text }: TestResponse): string =>
  `${status} ${JSON.stringify(headers)} ${text}`.replace(UUID, 'uuid').replace(INSTANT, 'then').replace(CURSOR, '_cursor=sealed')

/** Requests whose response depends on how far the index or the history has come. */
const FOLLOWS = /^GET \/(?:\w+\?|\w*\/?_history|\$meta)/

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
const INSTANT = /\d{4}-\d\d-\d\dT[\d:.]+Z|\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT/g
const CURSOR = /_cursor=[^&"]+/g

const noted = (id: string, author: string): Json => observation('laboratory', { id, note: [{ authorString: author, text: 'x' }] })

/** Milliseconds: each function reads the definitions again every ten seconds. */
const KNOWN_EVERYWHERE = 10_500

/** Defines a parameter and runs its rebuild, because a deployment in this process has no state machine. */
async function defineIn(
  tenant: string,
  ask: CallerRequest,
  { awsEndpoint, searchEndpoint, assembly, deployment }: DeploymentDescription,
): Promise<void> {
  const aws = awsCalls(awsEndpoint)
  const defined = await ask(operatorOf(tenant), 'PUT', '/SearchParameter/note-author', { body: NOTE_AUTHOR })
  if (defined.status !== 201) throw new Error(defined.text)
  let status = ''
  const until = async (state: string): Promise<void> => {
    for (let i = 0; i < 600 && !status.includes(state); i++) {
      if (i > 0) await wait(100)
      status = (await ask(operatorOf(tenant), 'GET', '/$reindex-status')).text
    }
    if (!status.includes(state)) throw new Error(status)
  }
  await until('"building"')
  const home = await hostDeployment(aws, assembly, deployment, { aws: awsEndpoint, search: searchEndpoint })
  await runRebuild(aws, home).finally(() => home.host.close())
  await until('"active"')
}

const JSON_PATCH = { 'content-type': 'application/json-patch+json' }

const NOTE_AUTHOR = {
  ...{ resourceType: 'SearchParameter', id: 'note-author', url: 'urn:note-author', name: 'noteAuthor', status: 'active', description: 'x' },
  ...{ code: 'note-author', base: ['Observation'], type: 'string', expression: 'Observation.note.author.ofType(string)' },
}

/** Tenants without data, for the writes. */
const WRITTEN: Readonly<Record<string, string>> = { north: 'west', south: 'east' }
