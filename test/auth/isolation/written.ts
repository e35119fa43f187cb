/** Writes that are asked for, and what becomes of them, against what the oracle says. */
import { isDeepStrictEqual } from 'node:util'
import { BASE_URL, type CallerRequest, operatorOf, type TestResponse } from '../site.ts'
import { LeakCheck } from './leak-check.ts'
import { type Caller, currentVersionOf, type Json } from './oracle.ts'
import { markOf, type Population } from './population.ts'
import { RULES, SHAPES, type WriteCase, type WriteCell, type WriteOutcome, type WriteRequest, withTags } from './writes.ts'

/** Knows what was written, as the oracle says. */
export type WritableSite = { readonly ask: CallerRequest; readonly population: Population }

/** On resources of its own, named by `name`. */
export const writeCaseOf = (population: Population, who: Caller, cell: WriteCell, name: string): WriteCase => ({
  ...{ who, cell, id: `w-${name}.id`, fresh: `n-${name}.id`, population },
})

export async function prepareWrites(world: WritableSite, asked: readonly WriteCase[]): Promise<void> {
  for (const tenant of new Set(asked.map(({ who }) => who.tenant))) await prepareIn(world, tenant, asked)
}

/** Tokens of this person act for the patient as long as this resource says so. */
const CARING: Json = { resourceType: 'RelatedPerson', patient: { reference: 'Patient/a.id' } }

/** Everything the writes are about, in a few transactions. */
async function prepareIn({ ask, population }: WritableSite, tenant: string, asked: readonly WriteCase[]): Promise<void> {
  const before = asked.filter(({ who, cell }) => who.tenant === tenant && cell.before !== 'nothing')
  const put = (json: Json) => ({ resource: json, request: { method: 'PUT', url: `${json.resourceType}/${json.id}` } })
  const marked = (id: string, shape: Json) => withTags(shape, id, markOf(tenant, shape.resourceType, id, 1))
  const { patient, other } = SHAPES
  const resources = [
    marked('a.id', patient),
    marked('b.id', patient),
    marked('theirs.id', other),
    marked('r-own.id', CARING),
    ...before.map(({ id, cell }) => marked(id, SHAPES[cell.as])),
  ]
  const gone = before.filter(({ cell }) => cell.before === 'deleted').map(({ id, cell }) => ({ type: SHAPES[cell.as].resourceType, id }))
  await write(ask, tenant, resources.map(put))
  await write(
    ask,
    tenant,
    gone.map(({ type, id }) => ({ request: { method: 'DELETE', url: `${type}/${id}` } })),
  )
  for (const json of resources) population.add(tenant, json.resourceType, json.id, json)
  for (const { type, id } of gone) population.add(tenant, type, id, undefined)
}

async function write(ask: CallerRequest, tenant: string, entry: readonly Json[]): Promise<void> {
  const { status, text } = await ask(operatorOf(tenant), 'POST', '/', { body: { resourceType: 'Bundle', type: 'transaction', entry } })
  if (status !== 200) throw new Error(text)
}

export const SEND_MODES = ['alone', 'batch', 'transaction'] as const
export type SendMode = (typeof SEND_MODES)[number]

async function send(
  ask: CallerRequest,
  who: Caller,
  { method, url, resource, patch, headers = {} }: WriteRequest,
  way: SendMode,
): Promise<TestResponse> {
  const patchHeaders = Array.isArray(patch) ? { 'content-type': 'application/json-patch+json' } : {}
  const body = resource ?? patch
  if (way === 'alone')
    return ask(who, method, `/${url}`, { headers: { ...patchHeaders, ...headers }, ...(body === undefined ? {} : { body }) })
  const [ifMatch, ifNoneMatch, ifNoneExist] = [headers['if-match'], headers['if-none-match'], headers['if-none-exist']]
  const carried = Array.isArray(patch)
    ? { resourceType: 'Binary', contentType: 'application/json-patch+json', data: btoa(JSON.stringify(patch)) }
    : body
  const entry = { request: { method, url, ifMatch, ifNoneMatch, ifNoneExist }, ...(carried === undefined ? {} : { resource: carried }) }
  const bundle = { resourceType: 'Bundle', type: way, entry: [entry] }
  const answer = await ask(who, 'POST', '/', { body: bundle, headers: { prefer: 'return=representation' } })
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
const shownIn = ({ body, status }: TestResponse): boolean => status < 300 && body !== undefined && body.resourceType !== 'OperationOutcome'

/** As the oracle says it was written. */
function take(population: Population, { who }: WriteCase, { wrote }: WriteOutcome, { headers }: TestResponse): void {
  if (wrote === undefined) return
  const [type = '', id = ''] = (wrote.name ?? headers.location!.slice(BASE_URL.length + 1)).split('/')
  population.add(who.tenant, type, id, wrote.json === undefined ? undefined : { ...wrote.json, id })
}

/** The status it must have, and what is wrong, one line each. What was written is written down. */
export async function findWriteErrors(
  { ask, population }: WritableSite,
  asked: WriteCase,
  way: SendMode,
): Promise<{ readonly status: number; readonly wrong: readonly string[] }> {
  const { who, cell, id } = asked
  const rule = RULES[cell.kind]
  const sent = rule.sent(asked)
  const expected: WriteOutcome = rule.outcome(asked)
  const answer = await send(ask, who, sent, way)
  take(population, asked, answer.status === expected.status ? expected : { status: 0 }, answer)
  const check = new LeakCheck(population)
  const leaks = check.leaksIn(answer, who, JSON.stringify(sent)).filter((leak) => leak !== id || answer.status === 200)
  const isShown = expected.status === 204 || shownIn(answer) === (expected.shows ?? false)
  const { status } = expected
  if (answer.status === status && isShown && leaks.length === 0) return { status, wrong: [] }
  const wrong = `${JSON.stringify(cell)} ${way}: ${answer.status}, not ${status}; ${leaks}; ${answer.text.slice(0, 300)}`
  return { status, wrong: [wrong] }
}

const withoutStamp = ({ meta: { tag }, ...json }: Json): Json => ({ ...json, meta: { tag } })

/** What is there and should not be, or is not as the oracle says: names. */
export async function findFinalErrors({ ask, population }: WritableSite, tenant: string): Promise<readonly string[]> {
  const there = new Map<string, Json>()
  let target: string | undefined = '/?_count=500'
  while (target !== undefined) {
    const { body }: TestResponse = await ask(operatorOf(tenant), 'GET', target)
    for (const { resource } of body.entry) there.set(`${resource.resourceType}/${resource.id}`, withoutStamp(resource))
    target = body.link.find(({ relation }: Json) => relation === 'next')?.url.slice(BASE_URL.length)
  }
  const expected = population.all(tenant).flatMap((kept) => {
    const json = currentVersionOf(kept)!.json
    return json === undefined ? [] : [[`${kept.type}/${kept.id}`, withoutStamp(json)] as const]
  })
  const other = expected.filter(([name, json]) => !isDeepStrictEqual(json, there.get(name))).map(([name]) => name)
  const names = new Set<string>(expected.map(([name]) => name))
  return [...other, ...[...there.keys()].filter((name) => !names.has(name))]
}
