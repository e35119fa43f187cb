/**
 * What Inferno's US Core kit asks of reads and searches, over the package's examples: each type, each search that SHALL or SHOULD be answered,
 * in each form the kit sends it. https://github.com/inferno-framework/us-core-test-kit @cloud:here
 */
import { describe, expect, it } from '@jest/globals'
import { isExternalServer, type Tree } from '../api/server.ts'
import { referencesIn } from './elements.ts'
import { comparisons, meetsCriterion, searchValueOf } from './meaning.ts'
import { INCLUDES, SEARCHES, WITHOUT_PROVENANCE } from './searches.ts'
import { examplesOfType, STORED, withExamples } from './site.ts'

const { get, send } = withExamples()

type Pairs = readonly (readonly [name: string, value: string])[]

const TYPES = Object.keys(SEARCHES)
const ROWS = TYPES.flatMap((type) =>
  (['shall', 'should'] as const).flatMap((level) =>
    SEARCHES[type]![level].map((names) => [type, names.join(' and '), level, names] as const),
  ),
)

const keysOf = (resources: readonly Tree[]): readonly string[] =>
  resources.map(({ resourceType, id }) => `${resourceType}/${id}`).toSorted()
const named = (query: Pairs): string =>
  new URLSearchParams([...query.map(([name, value]): [string, string] => [name, value]), ['_count', '1000']]).toString()

/** The resources that match, which are what the query means. */
async function searched(type: string, query: Pairs): Promise<readonly Tree[]> {
  const text = `${type}?${named(query)}`
  const { status, body } = await get(`/${text}`, { prefer: 'handling=strict' })
  expect([text, status, body.resourceType, body.type]).toEqual([text, 200, 'Bundle', 'searchset'])
  const found: readonly Tree[] = (body.entry ?? []).map(({ resource }: Tree) => resource)
  const expected = examplesOfType(type).filter((each) => query.every(([name, value]) => meetsCriterion(each, name, value)))
  expect([text, keysOf(found)]).toEqual([text, keysOf(expected)])
  return found
}

/** What each resource has of all these parameters, once each. */
function queriesOf(type: string, names: readonly string[]): ReadonlyMap<string, { readonly query: Pairs; readonly from: Tree }> {
  const queries = new Map<string, { readonly query: Pairs; readonly from: Tree }>()
  for (const from of examplesOfType(type)) {
    const query = names.flatMap((name) => {
      const value = searchValueOf(from, name)
      return value === undefined ? [] : [[name, value] as const]
    })
    if (query.length === names.length && !queries.has(named(query))) queries.set(named(query), { query, from })
  }
  return queries
}

const replaced = (query: Pairs, changed: string, value: string): Pairs => query.map(([name, was]) => [name, name === changed ? value : was])

it.each(ROWS)('%s can be searched by %s (%s)', async (type, _, __, names) => {
  const queries = [...queriesOf(type, names).values()]
  expect(queries).not.toEqual([])
  // Elsewhere each row is asked once: forms and values are read above the index, the same for all.
  for (const { query, from } of isExternalServer ? queries.slice(0, 1) : queries)
    expect(keysOf(await searched(type, query))).toContain(`${type}/${from.id}`)
  if (isExternalServer) return
  const { query, from } = queries[0]!
  await inOtherForms(type, query, from)
})

/** By POST; a patient with its type; a code with its system; a date with comparators, and twice; any of several codes. */
async function inOtherForms(type: string, query: Pairs, from: Tree): Promise<void> {
  const { parameters, any = {} } = SEARCHES[type]!
  const found = keysOf(await searched(type, query))
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const posted = await send('POST', `/${type}/_search`, named(query), form)
  expect([posted.status, keysOf(posted.body.entry.map(({ resource }: Tree) => resource))]).toEqual([200, found])
  for (const [name, value] of query) {
    const [kind] = parameters[name]!
    if (name === 'patient') expect(keysOf(await searched(type, replaced(query, name, `Patient/${value}`)))).toEqual(found)
    const whole = kind === 'token' ? searchValueOf(from, name, { isWhole: true }) : undefined
    if (whole !== undefined) expect(keysOf(await searched(type, replaced(query, name, whole)))).toContain(`${type}/${from.id}`)
    if (any[name] !== undefined)
      expect(keysOf(await searched(type, replaced(query, name, any[name])))).toEqual(expect.arrayContaining([...found]))
    if (kind === 'date') await compared(type, query, from, name)
  }
}

async function compared(type: string, query: Pairs, from: Tree, name: string): Promise<void> {
  const all = comparisons(from, name)
  expect(all).toHaveLength(4)
  for (const value of all) expect(keysOf(await searched(type, replaced(query, name, value)))).toContain(`${type}/${from.id}`)
  const others = query.filter(([each]) => each !== name)
  const between: Pairs = [...others, [name, all[1]!], [name, all[3]!]]
  expect(keysOf(await searched(type, between))).toContain(`${type}/${from.id}`)
}

describe('the CapabilityStatement', () => {
  it.each(TYPES)('claims the interactions and parameters of %s', async (type) => {
    const { body } = await get('/metadata')
    const told = body.rest[0].resource.find((each: Tree) => each.type === type)
    const { shall, should } = SEARCHES[type]!
    expect(told.interaction.map(({ code }: Tree) => code)).toEqual(
      expect.arrayContaining(['read', 'vread', 'history-instance', 'search-type']),
    )
    expect(told.searchParam.map(({ name }: Tree) => name)).toEqual(expect.arrayContaining([...new Set([...shall, ...should].flat())]))
    if (!WITHOUT_PROVENANCE.includes(type)) expect(told.searchRevInclude).toContain('Provenance:target')
  })
})

describe('reads', () => {
  it.each([...TYPES, 'Medication', 'Provenance'])('return the examples of %s', async (type) => {
    for (const { meta, ...resource } of examplesOfType(type)) {
      const path = `/${type}/${resource.id}`
      const { status, body } = await get(path)
      const told = { versionId: '1', lastUpdated: expect.any(String) }
      expect([path, status, body]).toEqual([path, 200, { ...resource, meta: { ...meta, ...told } }])
      const { body: version } = await get(`${path}/_history/1`)
      expect(version).toEqual(body)
    }
    const { body } = await get(`/${type}/${examplesOfType(type)[0]!.id}/_history`)
    expect(body.entry.map(({ resource }: Tree) => resource.meta.versionId)).toEqual(['1'])
    expect((await get(`/${type}/never`)).status).toBe(404)
  })
})

describe('_revinclude of Provenance', () => {
  it.each(TYPES.filter((type) => !WITHOUT_PROVENANCE.includes(type)))('includes the Provenance of each match: %s', async (type) => {
    const names = SEARCHES[type]!.shall[0]!
    let came = 0
    for (const { query } of queriesOf(type, names).values()) {
      const found = keysOf(await searched(type, query))
      const { body } = await get(`/${type}?${named(query)}&_revinclude=Provenance:target`, { prefer: 'handling=strict' })
      const ofMode = (wanted: string) =>
        keysOf(body.entry.flatMap(({ resource, search }: Tree) => (search.mode === wanted ? [resource] : [])))
      const about = examplesOfType('Provenance').filter(({ target }) => target.some(({ reference }: Tree) => found.includes(reference)))
      expect([ofMode('match'), ofMode('include')]).toEqual([found, keysOf(about)])
      came += about.length
    }
    expect(came).toBeGreaterThan(0)
  })
})

describe('_include', () => {
  it.each(INCLUDES)('includes the referenced resources: %s', async (include) => {
    const [type, code, target] = include.split(':') as [string, string, string?]
    const referred = examplesOfType(type).flatMap((resource) => referencesIn([resource[code], resource[`${code}Reference`]]))
    const wanted = keysOf(STORED).filter((key) => referred.includes(key) && key.startsWith(target === undefined ? '' : `${target}/`))
    const { body } = await get(`/${type}?_include=${include}&_count=1000`, { prefer: 'handling=strict' })
    const came = keysOf(body.entry.flatMap(({ resource, search }: Tree) => (search.mode === 'include' ? [resource] : [])))
    expect(wanted).not.toEqual([])
    expect(came).toEqual(wanted)
  })
})
