/** The official examples and definitions of R4, stored, read back, searched for and exported: nothing is lost, and nothing becomes another. */
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '../fixtures/eventually.ts'
import { isFullRun } from '../fixtures/long-runs.ts'
import { US_CORE_EXAMPLES } from '../fixtures/us-core/examples.ts'
import { exampleTextOf, INVALID_EXAMPLES, OFFICIAL_EXAMPLES } from '../fixtures/validation/official.ts'
import { type Tree, withServer } from './server.ts'

/** The longest of them has 35 MB. */
const { get, post, raw } = withServer({ FHIR_MAX_BODY_BYTES: '40000000' })

const MOST_BYTES = 4_000_000
const MOST_AT_ONCE = 8
const LONG = 1_000_000

/** Beyond what a resource may be. */
const TOO_LONG = 'Bundle-resources'

/** With each number as it is written. */
const parsed = (text: string): Tree =>
  JSON.parse(text, (_, value, { source }: { readonly source?: string } = {}) => (typeof value === 'number' ? { number: source } : value))

/** `name`: of its file. `size`: in characters. */
type Example = { readonly name: string; readonly key: string; readonly size: number }
const exampleOf = (name: string): Example => {
  const text = exampleTextOf(name)
  const { resourceType, id } = JSON.parse(text)
  return { name, key: `${resourceType}/${id}`, size: text.length }
}
/** All in whole loops; else some, none of them long. */
const sent: readonly Example[] = OFFICIAL_EXAMPLES.filter((name, i) => isFullRun || name in INVALID_EXAMPLES || i % 40 === 0)
  .map(exampleOf)
  .filter(({ size }) => isFullRun || size < LONG)
const stored = sent.filter(({ name }) => !(name in INVALID_EXAMPLES) && name !== TOO_LONG)
const idsOf = (type: string): readonly string[] =>
  stored.flatMap(({ key }) => (key.startsWith(`${type}/`) ? [key.slice(type.length + 1)] : [])).sort()
const types = [...new Set(stored.map(({ key }) => key.split('/')[0]!))]

/** In turn, as many at once as a busy client asks. */
async function forEach<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  await Promise.all(
    Array.from({ length: MOST_AT_ONCE }, async () => {
      for (const item of left) await act(item)
    }),
  )
}

function* batchesOf(examples: readonly Example[]): Generator<readonly Example[]> {
  let batch: Example[] = []
  let bytes = 0
  for (const example of examples) {
    if (batch.length > 0 && bytes + example.size > MOST_BYTES) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(example)
    bytes += example.size
  }
  yield batch
}

const batchOf = (examples: readonly Example[]): string => {
  const entry = examples.map(({ name, key }) => `{"resource":${exampleTextOf(name)},"request":{"method":"PUT","url":"${key}"}}`)
  return `{"resourceType":"Bundle","type":"batch","entry":[${entry.join(',')}]}`
}

/** What may be told differently once definitions are stored: what profiles find, and what the server says it can do. */
const profiled: readonly string[] = [
  ...sent.flatMap(({ name, size }) => (size < 50_000 ? [exampleTextOf(name)] : [])).filter((text) => /"profile": *\[ *"/.test(text)),
  ...US_CORE_EXAMPLES.filter((_, i) => i % 9 === 0).map((resource) => JSON.stringify(resource)),
]
const found = async (): Promise<readonly Tree[]> => {
  const all: Tree[] = []
  for (const text of profiled) all.push((await post(`/${JSON.parse(text).resourceType}/$validate`, text)).body)
  return all
}
const claimed = async (): Promise<Tree> => (await get('/metadata')).body

const answers = new Map<string, Tree>()
let before: { readonly found: readonly Tree[]; readonly claimed: Tree }

beforeAll(async () => {
  before = { found: await found(), claimed: await claimed() }
  for (const batch of batchesOf(sent)) {
    const { status, body } = await post('/', batchOf(batch), { 'x-consistency': 'strong' })
    expect([batch[0]!.name, status]).toEqual([batch[0]!.name, 200])
    for (const [i, { name }] of batch.entries()) answers.set(name, body.entry[i].response)
  }
})

/** What may be told that R4's own definition stays what it is. */
const DEFINITION = /^(StructureDefinition|ValueSet|CodeSystem)-/

it('the official examples are stored, except for faulty ones, with the location reported', () => {
  const others = [...answers].filter(([, { status }]) => !status.startsWith('201'))
  const refused = others.map(([name, { status, outcome }]) => {
    const { severity, code, expression, details } = outcome.issue[0]
    const place = expression[0].replace(/^Bundle\.entry\[\d+\](\.resource\.?)?/, '')
    return [name, [status, severity, code, place, details.text]]
  })
  const faults = Object.entries(INVALID_EXAMPLES).map(([name, fault]) => [name, ['400 Bad Request', 'error', ...fault]] as const)
  const tooLong = [TOO_LONG, ['413 Payload Too Large', 'error', 'too-long', '', 'The resource is larger than 20000000 bytes']] as const
  const expected = [...faults, tooLong].filter(([name]) => answers.has(name))
  expect(expected).toHaveLength(isFullRun ? 30 : 25)
  expect(Object.fromEntries(refused)).toEqual(Object.fromEntries(expected))
  // No parameter of theirs is another than R4's, and no text is too long for search.
  const told = [...answers].filter(
    ([name, { outcome }]) => !(name in INVALID_EXAMPLES) && !DEFINITION.test(name) && outcome?.issue !== undefined,
  )
  expect(told.map(([name, { outcome }]) => [name, outcome.issue])).toEqual(answers.has(TOO_LONG) ? [[TOO_LONG, expect.anything()]] : [])
})

/** But for what the server says of each. */
function isAsSent({ meta, ...rest }: Tree, { name }: Example): boolean {
  const { meta: own, ...sent } = parsed(exampleTextOf(name))
  const told = { versionId: meta.versionId, lastUpdated: meta.lastUpdated }
  return isDeepStrictEqual([rest, meta], [sent, { ...own, ...told }])
}

it('each example is read as it was sent', async () => {
  const different: string[] = []
  await forEach(stored, async (example) => {
    const answer = await raw(`/${example.key}`)
    const resource = parsed(await answer.text())
    expect([example.key, answer.status, resource.meta.versionId]).toEqual([example.key, 200, '1'])
    if (!isAsSent(resource, example)) different.push(example.key)
  })
  expect(different).toEqual([])
})

/** A page of long resources ends early. */
async function foundBy(query: string): Promise<readonly string[]> {
  const ids: string[] = []
  for (let next: string | undefined = query; next !== undefined; ) {
    const { body } = await get(next)
    ids.push(...body.entry.map(({ resource }: Tree) => resource.id))
    next = body.link.find(({ relation }: Tree) => relation === 'next')?.url
  }
  return ids.sort()
}

it('each example is found by its id and by type, and has one version', async () => {
  for (const type of types) {
    const ids = idsOf(type)
    expect([type, (await get(`/${type}?_summary=count`)).body.total]).toEqual([type, ids.length])
    for (let i = 0; i < ids.length; i += 500) {
      const some = ids.slice(i, i + 500)
      expect([type, await foundBy(`/${type}?_id=${some.join(',')}&_elements=id&_count=1000`)]).toEqual([type, some])
    }
    const { body } = await get(`/${type}/${ids[0]}/_history?_count=2`)
    expect([type, body.entry.map(({ resource }: Tree) => resource.meta.versionId)]).toEqual([type, ['1']])
  }
})

it('stored examples of definitions change no behaviour', async () => {
  const { body } = await get('/$reindex-status')
  expect(body.parameter).toEqual([{ name: 'lag', valueInteger: 0 }])
  expect(await claimed()).toEqual(before.claimed)
  expect(before.found.length).toBeGreaterThan(20)
  expect(before.found.flatMap(({ issue }) => issue).filter(({ severity }) => severity !== 'information').length).toBeGreaterThan(20)
  const after = await found()
  expect(after.map(withoutCodes)).toEqual(before.found.map(withoutCodes))
  // Whether a code is in a value set that was not loaded is known now.
  for (const [i, { issue }] of before.found.entries()) {
    const known = issue.filter(({ code }: Tree) => code === 'code-invalid')
    expect(after[i]!.issue).toEqual(expect.arrayContaining(known))
  }
})
const withoutCodes = ({ issue }: Tree): readonly Tree[] =>
  issue.filter(({ code }: Tree) => code !== 'not-supported' && code !== 'code-invalid' && code !== 'informational')

const pathOf = (url: string): string => url.slice('http://127.0.0.1/fhir'.length)
/** An attachment is where it was; the file says so of the whole address. */
const asSent = (line: string): Tree => parsed(line.replaceAll('"url":"http://127.0.0.1/fhir/', '"url":"'))

it('an export contains all examples unchanged', async () => {
  const { status, headers } = await raw('/$export', { headers: { accept: 'application/fhir+json', prefer: 'respond-async' } })
  expect(status).toBe(202)
  const answer = await eventually(() => get(headers.get('content-location')!), { until: ({ status }) => status !== 202, every: 100 })
  expect([answer.status, answer.body.error]).toEqual([200, []])
  const byKey = new Map(stored.map((example) => [example.key, example]))
  const different: string[] = []
  for (const { url, type, count } of answer.body.output) {
    const lines = (await (await raw(pathOf(url))).text()).trimEnd().split('\n')
    expect([type, lines.length]).toEqual([type, count])
    for (const line of lines) {
      const resource = asSent(line)
      const key = `${resource.resourceType}/${resource.id}`
      if (!isAsSent(resource, byKey.get(key)!)) different.push(key)
      byKey.delete(key)
    }
  }
  expect([different, [...byKey.keys()]]).toEqual([[], []])
})

/** Not R4's, or without a way to values: as active they would be refused, not searched by. */
const REFUSED_AS_ACTIVE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      'DomainResource-text',
      'Resource-content',
      'Resource-query',
      ...['age', 'birthOrderBoolean'].map((name) => `patient-extensions-Patient-${name}`),
    ].map((id) => [id, 'A parameter that is added has an expression']),
  ),
  'Location-near': 'Parameters of type special cannot be added',
  filter: 'Parameters of type special cannot be added',
  'example-extension': 'The expression has no values on Patient',
}

/** The published examples are drafts, which define no parameter. */
describe('Active example SearchParameters on another server', () => {
  const another = withServer({ FHIR_MAX_BODY_BYTES: '40000000' })

  it('leave the parameters of R4 unchanged', async () => {
    const drafts = stored.flatMap(({ key, name }) => (key.startsWith('SearchParameter/') ? [JSON.parse(exampleTextOf(name))] : []))
    const write = async (more: object): Promise<Tree> => {
      const entry = drafts.map((draft) => ({
        resource: { ...draft, ...more },
        request: { method: 'PUT', url: `SearchParameter/${draft.id}` },
      }))
      return (await another.post('/', { resourceType: 'Bundle', type: 'batch', entry }, { 'x-consistency': 'strong' })).body
    }
    await write({})
    const body = await write({ status: 'active' })
    const told = body.entry.map(({ response: { status, outcome } }: Tree, i: number) => {
      const [{ code, details }] = outcome?.issue ?? [{}]
      return [drafts[i].id, status.slice(0, 3), code, details?.text]
    })
    const KEPT = expect.stringMatching(/^[\w, ]+ ha(?:s|ve) a search parameter of this code already, which stays what it is$/)
    expect(told).toEqual(
      drafts.map(({ id }) =>
        id in REFUSED_AS_ACTIVE ? [id, '422', 'invalid', REFUSED_AS_ACTIVE[id]] : [id, '200', 'business-rule', KEPT],
      ),
    )
    expect((await another.get('/$reindex-status')).body.parameter).toEqual([{ name: 'lag', valueInteger: 0 }])
  })
})
