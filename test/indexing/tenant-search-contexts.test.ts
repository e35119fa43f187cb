/** Search contexts of tenants with custom parameters: each tenant has its own, in searches and in documents. */
import { describe, expect, it } from '@jest/globals'
import { type Definitions, NO_DEFINITIONS, withSearchParameter } from '../../lambdas/indexing/custom-definitions.ts'
import { indexChanges } from '../../lambdas/indexing/feed/indexing.ts'
import { prefetchResources } from '../../lambdas/indexing/parameter-prefetch.ts'
import { indexStream } from '../../lambdas/indexing/stream/index-stream.ts'
import { TenantSearchContexts } from '../../lambdas/indexing/tenant-search-contexts.ts'
import { runToEnd } from '../../lambdas/ports/execution/generator-driver.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { patient } from '../fixtures/resources.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const parameter = (tenant: string, code: string, expression: string) =>
  versionOf(
    writeOf(resourceKeyOf(tenant, 'SearchParameter', code), {
      body: { resourceType: 'SearchParameter', id: code, url: code, status: 'active', code, base: ['Patient'], type: 'string', expression },
    }),
  )

const COMPILED = 'Patient.name.family'
/** Evaluated in the separate process, before the documents are created. */
const INTERPRETED = 'Patient.name.repeat(family)'

/** `state`: state of all definitions. */
const definitionsOf = (state: 'building' | 'active', expression = COMPILED): Definitions => {
  const made = [parameter('a', 'of-a', expression), parameter('b', 'of-b', expression)].reduce(withSearchParameter, NO_DEFINITIONS)
  return { ...made, definitions: made.definitions.map((each) => ({ ...each, state })) }
}

const codesOf = (readings: TenantSearchContexts, state: Definitions, tenant: string) =>
  readings.of(state, tenant).custom?.map(({ code }) => code)

describe('the quota of definitions', () => {
  const definedBy = (state: Definitions, tenant: string, count: number, names = `${tenant}-`) =>
    Array.from({ length: count }, (_, i) => parameter(tenant, `${names}${i}`, COMPILED)).reduce(withSearchParameter, state)
  const reasons = ({ poisoned }: Definitions) => poisoned.map(({ tenant, reason }) => `${tenant} ${reason}`)

  it('belongs to one tenant: a full one takes nothing from others', () => {
    const full = definedBy(NO_DEFINITIONS, 'a', 201)
    expect([full.definitions.length, reasons(full)]).toEqual([200, ['a TooManyParameters']])
    const both = definedBy(full, 'b', 200)
    expect([both.definitions.length, reasons(both)]).toEqual([400, ['a TooManyParameters']])
  })

  it('ends at the field limit of an index; tenants with equal definitions share fields', () => {
    const shared = ['a', 'b', 'c', 'd'].reduce((state, tenant) => definedBy(state, tenant, 150, 'same-'), NO_DEFINITIONS)
    expect([shared.definitions.length, new Set(shared.definitions.map(({ mapping }) => mapping.field)).size]).toEqual([600, 150])
    const own = ['e', 'f', 'g'].reduce((state, tenant) => definedBy(state, tenant, 150), shared)
    expect(new Set(own.definitions.map(({ mapping }) => mapping.field)).size).toBe(500)
    expect(new Set(reasons(own))).toEqual(new Set(['g TooManyParameters']))
  })
})

describe('a tenant', () => {
  it('has its own parameters only; a request without a tenant has none', () => {
    const readings = new TenantSearchContexts({}, 'searches')
    const state = definitionsOf('active')
    expect(['a', 'b', 'c', ''].map((tenant) => codesOf(readings, state, tenant))).toEqual([['of-a'], ['of-b'], undefined, undefined])
  })

  it('searches by active definitions, and has documents by building ones, too', () => {
    const state = definitionsOf('building')
    expect(codesOf(new TenantSearchContexts({}, 'searches'), state, 'a')).toBeUndefined()
    expect(codesOf(new TenantSearchContexts({}, 'documents'), state, 'a')).toEqual(['of-a'])
  })

  it('keeps its search context while others define, and its mappings while it defines more', () => {
    const readings = new TenantSearchContexts({}, 'searches')
    const state = definitionsOf('active')
    const before = readings.of(state, 'a')
    const activated = (next: Definitions): Definitions => ({
      ...next,
      definitions: structuredClone(next.definitions).map((each) => ({ ...each, state: 'active' })),
    })
    const others = activated(withSearchParameter(state, parameter('b', 'more-of-b', COMPILED)))
    expect(readings.of(others, 'a')).toBe(before)
    const mine = activated(withSearchParameter(others, parameter('a', 'more-of-a', COMPILED)))
    const after = readings.of(mine, 'a')
    expect(after.custom?.map(({ code }) => code)).toEqual(['of-a', 'more-of-a'])
    expect(after.custom?.[0]).toBe(before.custom?.[0])
    expect(readings.of(activated(NO_DEFINITIONS), 'a').custom).toBeUndefined()
  })
})

describe.each([COMPILED, INTERPRETED])('a document, by %s', (expression) => {
  const state = definitionsOf('active', expression)
  const readings = new TenantSearchContexts({}, 'documents')
  const reading = (tenant: string) => readings.of(state, tenant)
  const versions = ['a', 'b', 'c'].map((tenant) => versionOf(writeOf(patientKeyOf('p', tenant), { body: patient('p', { family: 'F' }) })))
  const made: IndexDocument[] = []
  const expectOwn = () =>
    expect(
      made.splice(0).map(({ tenant, present }) => [tenant, present.filter((field) => field.startsWith('of-')).map((f) => f.slice(0, 4))]),
    ).toEqual([
      ['a', ['of-a']],
      ['b', ['of-b']],
      ['c', []],
    ])

  it('from the stream has the values of the parameters of its own tenant', async () => {
    const index = { apply: async (documents: readonly IndexDocument[]) => void made.push(...documents) }
    const changes = versions.map((version, i) => ({ sequence: `${i}`, version }))
    expect(await indexStream(changes, { index, reading, expressions: EXPRESSIONS, onPoison: () => undefined })).toEqual([])
    expectOwn()
  })

  it('from the feed has them, too', async () => {
    const changes = versions.map((version, i) => ({ position: i + 1, version }))
    const index = {
      *applying(documents: readonly IndexDocument[]) {
        made.push(...documents)
        yield
      },
      isFull: false,
      prepareCommit: () => true,
      commit: () => undefined,
      note: () => 0,
      setNote: () => undefined,
    }
    const part = { changes, upTo: versions.length, read: await prefetchResources(versions, reading, EXPRESSIONS) }
    runToEnd(indexChanges(index, part, { reading, onPoison: () => undefined }))
    expectOwn()
  })
})
