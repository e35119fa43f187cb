/** Index fields of custom parameters, and the capacity that all tenants share. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { bodyOf } from '../../../lambdas/adapters/opensearch/document-body.ts'
import { indexDefinition } from '../../../lambdas/adapters/opensearch/index-definition.ts'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { withSearchParameter } from '../../../lambdas/indexing/custom-definitions.ts'
import { NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import type { RegisteredParameter } from '../../../lambdas/ports/search/index-status.ts'
import { MAX_INDEX_FIELDS } from '../../../lambdas/ports/search/search-index.ts'
import { MAX_CUSTOM_FIELDS } from '../../../lambdas/search/custom/custom-parameter-limits.ts'
import { checkDefinition, customMappingsOf } from '../../../lambdas/search/custom/custom-parameters.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { parametersOf } from '../../../lambdas/search/parameters.ts'
import { SEARCH_TYPES } from '../../../lambdas/search/types/search-types.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const definition = (code: string, type: string, expression: string, more: object = {}): Tree => ({
  ...{ resourceType: 'SearchParameter', id: code, url: `urn:${code}`, name: 'own', status: 'active', description: 'x' },
  ...{ code, type, base: ['Basic'], expression: `Basic.extension.value.ofType(${expression})`, ...more },
})

const coding = { system: 's', code: 'c', display: 'd' }

/** For each type: FHIR types of values that together use every index field of a parameter. */
const VALUES: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  token: [{ Identifier: { system: 's', value: 'v', type: { coding: [coding], text: 't' } } }],
  string: [{ string: 'a' }],
  date: [{ dateTime: '2020-01-01' }],
  reference: [{ Reference: { reference: 'Patient/1', identifier: { system: 's', value: 'v' } } }, { canonical: 'http://x.example/p|1' }],
  uri: [{ uri: 'http://x.example' }],
  number: [{ decimal: 1.5 }],
  quantity: [
    { Quantity: { value: 5, unit: 'mg', system: 's', code: 'mg' } },
    { Quantity: { value: 5, system: 'http://unitsofmeasure.org', code: 'mg' } },
  ],
}

/** Returns the fields below the folders of the mapping in the document of a Basic that one parameter reads. */
function fieldsOf(type: string): readonly string[] {
  const values = VALUES[type]!
  const types = [...new Set(values.flatMap((each) => Object.keys(each)))]
  const expression = types.map((each) => `Basic.extension.value.ofType(${each})`).join(' | ')
  const custom = customMappingsOf({ ...definition('own', type, ''), expression }, 't')
  const extension = values.flatMap((each) =>
    Object.entries(each).map(([name, value]) => ({ url: 'u', [`value${name[0]!.toUpperCase()}${name.slice(1)}`]: value })),
  )
  const resource = { resourceType: 'Basic', id: 'b', extension }
  const document = extract(versionOf(writeOf(resourceKeyOf('t', 'Basic', 'b'), { body: resource })), resource, { custom })
  const content = JSON.parse(bodyOf(document, false)) as Record<string, Record<string, unknown>>
  const { properties } = indexDefinition({}).mappings as { properties: Record<string, { type?: string }> }
  const folders = Object.keys(properties).filter((name) => properties[name]!.type === 'object')
  return folders.flatMap((folder) =>
    Object.keys(content[folder]!).flatMap((name) => (name.startsWith('own~') ? [`${folder}.${name}`] : [])),
  )
}

describe('maxFields of a search type', () => {
  it.each(Object.keys(VALUES))('is the number of index fields of a %s parameter', (type) =>
    expect(fieldsOf(type).length).toBe(SEARCH_TYPES[type as 'token']!.maxFields),
  )

  it('is the number that the table of limits states', () => {
    const stated = readFileSync('lambdas/docs/limits.md', 'utf8')
    const { token, reference, quantity, string, date, number, uri, composite } = SEARCH_TYPES
    expect([reference, number, uri].map((each) => each?.maxFields)).toEqual([quantity, date, date].map((each) => each?.maxFields))
    expect(composite?.maxFields).toBe(0)
    expect(stated).toContain(
      `A token uses ${token?.maxFields}, a reference or quantity ${reference?.maxFields}, a string ${string?.maxFields}, a date, number or uri ${date?.maxFields}, a composite none`,
    )
  })

  it('leaves room in the index of every type for the parameters of R4, for custom ones, and for 500 fields of removed ones', () => {
    const { properties } = indexDefinition({}).mappings
    const fixed = JSON.stringify(properties).split('"type"').length
    for (const type of resourceTypes) {
      const ofR4 = parametersOf(type).reduce((sum, parameter) => sum + (SEARCH_TYPES[parameter.type]?.maxFields ?? 0), 0)
      expect(fixed + ofR4 + MAX_CUSTOM_FIELDS + 500).toBeLessThanOrEqual(MAX_INDEX_FIELDS)
    }
  })
})

describe('The capacity for index fields', () => {
  const identifier = (code: string, more: object = {}) => definition(code, 'token', 'Identifier', more)
  const versionFor = (tenant: string, resource: Tree, expected = 0) =>
    versionOf(writeOf(resourceKeyOf(tenant, 'SearchParameter', resource.id), { expected, body: resource }))
  /** Returns the state with so many parameters of the tenant. Their fields differ. */
  const filled = (state: typeof NO_STATE, tenant: string, count: number) =>
    Array.from({ length: count }, (_, i) => versionFor(tenant, identifier(`${tenant}-${i}`))).reduce(withRegistered, state)
  const withRegistered = (state: typeof NO_STATE, version: ReturnType<typeof versionFor>) => ({
    ...state,
    ...withSearchParameter(state, version),
  })
  const checked = (registered: readonly RegisteredParameter[], tenant: string, resource: Tree) =>
    checkDefinition(resource, { tenant, id: resource.id, expressions: EXPRESSIONS, registered: async () => registered })
  const refusal = (text: string) =>
    expect.objectContaining({
      status: 422,
      issues: [{ severity: 'error', code: 'too-costly', expression: 'SearchParameter.base', text }],
    })

  /** Two tenants use 2,992 of 3,000 fields. */
  const almost = filled(filled(NO_STATE, 'a', 187), 'b', 187)

  it('rejects the parameter that does not fit, and states the fields that are left for all tenants', async () => {
    await checked(almost.definitions, 'c', identifier('c-0'))
    const full = filled(almost, 'c', 1)
    for (const tenant of ['a', 'c', 'd'])
      await expect(checked(full.definitions, tenant, identifier('one-more'))).rejects.toEqual(
        refusal('The parameter needs 8 index fields on Basic. 0 of 3000 are left for all tenants together'),
      )
    await expect(checked(almost.definitions, 'c', identifier('both', { base: ['Basic', 'Patient'], expression: 'Resource.meta.tag' }))).resolves.toEqual([]) // biome-ignore format: one call
    await checked(full.definitions, 'd', identifier('elsewhere', { base: ['Patient'], expression: 'Patient.identifier' }))
  })

  it('counts the fields of a changed definition twice until its rebuild ends, and those of an equal definition once', async () => {
    const full = filled(almost, 'c', 1)
    await checked(full.definitions, 'a', identifier('a-7'))
    await checked(full.definitions, 'd', identifier('a-7'))
    const active = full.definitions.map((each) => ({ ...each, state: 'active' as const }))
    const changed = { ...identifier('a-7'), expression: 'Basic.identifier' }
    await expect(checked(active, 'a', changed)).rejects.toEqual(expect.objectContaining({ status: 422 }))
    await checked(full.definitions, 'a', changed)
  })

  it('keeps the parameter of a write that another write overtook out of the index, and reports it', () => {
    const raced = filled(almost, 'c', 2)
    expect(raced.definitions.length).toBe(375)
    expect(raced.poisoned.map(({ id, reason }) => [id, reason])).toEqual([['c-1', 'TooManyParameters']])
    const freed = withRegistered(
      raced,
      versionOf({ ...writeOf(resourceKeyOf('a', 'SearchParameter', 'a-0'), { expected: 1, deleted: true }) }),
    )
    expect(
      withRegistered(freed, versionFor('c', identifier('c-1'), 1))
        .definitions.map(({ id }) => id)
        .at(-1),
    ).toBe('c-1')
  })
})
