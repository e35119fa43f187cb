/**
 * Writes by everybody, alone and in Bundles: each is answered as the oracle says, nothing is said of what is hidden, and in the end there is what
 * the oracle wrote and nothing else.
 */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { LeakCheck } from './leak-check.ts'
import { headOf, type Json, type Who } from './oracle.ts'
import { markOf, Population, TENANTS } from './population.ts'
import { type Answer, BASE, openSite, operatorOf, type Site } from './site.ts'
import { nameOfWho, WHOS } from './whos.ts'
import { type Asked, CELLS, type Outcome, RULES, SHAPES, tagged, type Written } from './writes.ts'

const FULL = process.env.FHIR_TEST_FULL === '1'
const EACH = FULL ? 4 : 1
const WHO = FULL ? WHOS : WHOS.filter((_, i) => i % 2 === 0)

let site: Site
let population: Population
let asked: readonly Asked[]

beforeAll(async () => {
  site = await openSite()
  population = new Population()
  // Another prime than any number of shapes: everybody gets other cells.
  asked = WHO.flatMap((who, i) => Array.from({ length: EACH }, (_, j) => askedOf(who, (i * EACH + j) * 397, `${i}-${j}`)))
  for (const tenant of TENANTS) await prepare(tenant)
})
afterAll(() => site.close())

const askedOf = (who: Who, at: number, name: string): Asked => ({
  ...{ who, id: `w-${name}.id`, fresh: `n-${name}.id`, population },
  cell: CELLS[at % CELLS.length]!,
})

/** Everything the writes are about, in a few transactions. */
async function prepare(tenant: string): Promise<void> {
  const before = asked.filter(({ who, cell }) => who.tenant === tenant && cell.before !== 'nothing')
  const put = (json: Json) => ({ resource: json, request: { method: 'PUT', url: `${json.resourceType}/${json.id}` } })
  const marked = (id: string, shape: Json) => tagged(shape, id, markOf(tenant, shape.resourceType, id, 1))
  const { patient, other } = SHAPES
  const resources = [
    marked('a.id', patient),
    marked('b.id', patient),
    marked('theirs.id', other),
    ...before.map(({ id, cell }) => marked(id, SHAPES[cell.as])),
  ]
  const gone = before.filter(({ cell }) => cell.before === 'deleted').map(({ id, cell }) => ({ type: SHAPES[cell.as].resourceType, id }))
  await write(tenant, resources.map(put))
  await write(
    tenant,
    gone.map(({ type, id }) => ({ request: { method: 'DELETE', url: `${type}/${id}` } })),
  )
  for (const json of resources) population.add(tenant, json.resourceType, json.id, json)
  for (const { type, id } of gone) population.add(tenant, type, id, undefined)
}

async function write(tenant: string, entry: readonly Json[]): Promise<void> {
  const { status, text } = await site.ask(operatorOf(tenant), 'POST', '/', { body: { resourceType: 'Bundle', type: 'transaction', entry } })
  if (status !== 200) throw new Error(text)
}

const WAYS = ['alone', 'batch', 'transaction'] as const

async function send(who: Who, { method, url, resource, patch, headers = {} }: Written, way: (typeof WAYS)[number]): Promise<Answer> {
  const patchHeaders = Array.isArray(patch) ? { 'content-type': 'application/json-patch+json' } : {}
  const body = resource ?? patch
  if (way === 'alone')
    return site.ask(who, method, `/${url}`, { headers: { ...patchHeaders, ...headers }, ...(body === undefined ? {} : { body }) })
  const [ifMatch, ifNoneMatch, ifNoneExist] = [headers['if-match'], headers['if-none-match'], headers['if-none-exist']]
  const carried = Array.isArray(patch)
    ? { resourceType: 'Binary', contentType: 'application/json-patch+json', data: btoa(JSON.stringify(patch)) }
    : body
  const entry = { request: { method, url, ifMatch, ifNoneMatch, ifNoneExist }, ...(carried === undefined ? {} : { resource: carried }) }
  const bundle = { resourceType: 'Bundle', type: way, entry: [entry] }
  const answer = await site.ask(who, 'POST', '/', { body: bundle, headers: { prefer: 'return=representation' } })
  if (answer.status !== 200) return answer
  const [{ response, resource: shown }] = answer.body.entry
  return {
    ...answer,
    status: Number(response.status.slice(0, 3)),
    headers: { ...answer.headers, location: response.location },
    body: shown,
  }
}

/** The resource an answer has, where it has one: not what went wrong. */
const shownIn = ({ body, status }: Answer): boolean => status < 300 && body !== undefined && body.resourceType !== 'OperationOutcome'

/** As the oracle says it was written. */
function take({ who }: Asked, { wrote }: Outcome, { headers }: Answer): void {
  if (wrote === undefined) return
  const [type = '', id = ''] = (wrote.name ?? headers.location!.slice(BASE.length + 1)).split('/')
  population.add(who.tenant, type, id, wrote.json === undefined ? undefined : { ...wrote.json, id })
}

it(
  'nobody writes, or learns by writing, what is not theirs',
  async () => {
    const check = new LeakCheck(population)
    const wrong: string[] = []
    const statuses = new Map<number, number>()
    for (const [i, each] of asked.entries()) {
      const { who, cell } = each
      const rule = RULES[cell.kind]
      const sent = rule.sent(each)
      const expected: Outcome = rule.outcome(each)
      const way = WAYS[i % WAYS.length]!
      const answer = await send(who, sent, way)
      take(each, answer.status === expected.status ? expected : { status: 0 }, answer)
      const leaks = check.leaksIn(answer, who, JSON.stringify(sent)).filter((leak) => leak !== each.id || answer.status === 200)
      check.forget()
      const isShown = expected.status === 204 || shownIn(answer) === (expected.shows ?? false)
      statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1)
      if (answer.status !== expected.status || !isShown || leaks.length > 0)
        wrong.push(
          `${nameOfWho(who)}: ${JSON.stringify(cell)} ${way}: ${answer.status}, not ${expected.status}; ${leaks}; ${answer.text.slice(0, 300)}`,
        )
    }
    expect(wrong.slice(0, 15)).toEqual([])
    expect(asked.length).toBeGreaterThan(FULL ? 3_000 : 400)
    for (const status of [200, 201, 204, 403, 404, 412]) expect(statuses.get(status)).toBeGreaterThan(0)
  },
  5 * 60_000,
)

const withoutStamp = ({ meta: { tag }, ...json }: Json): Json => ({ ...json, meta: { tag } })

it('and there is nothing but what was allowed', async () => {
  for (const tenant of TENANTS) {
    const there = new Map<string, Json>()
    let target: string | undefined = '/?_count=500'
    while (target !== undefined) {
      const { body }: Answer = await site.ask(operatorOf(tenant), 'GET', target)
      for (const { resource } of body.entry) there.set(`${resource.resourceType}/${resource.id}`, withoutStamp(resource))
      target = body.link.find(({ relation }: Json) => relation === 'next')?.url.slice(BASE.length)
    }
    const expected = population.all(tenant).flatMap((kept) => {
      const json = headOf(kept)!.json
      return json === undefined ? [] : [[`${kept.type}/${kept.id}`, withoutStamp(json)] as const]
    })
    const other = expected.filter(([name, json]) => !isDeepStrictEqual(json, there.get(name)))
    expect(other.slice(0, 5)).toEqual([])
    expect(there.size).toBe(expected.length)
  }
})
