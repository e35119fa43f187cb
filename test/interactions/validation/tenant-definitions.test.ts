/** Definitions of a tenant's own: which of those that may carry a canonical counts, how large it may be, and how often it is read. */
import { describe, expect, it } from '@jest/globals'
import type { Profile, Slicing } from '../../../lambdas/fhir/profile/definition.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { DefinitionReader, MAX_DEFINITION_BYTES } from '../../../lambdas/interactions/validation/definition-reader.ts'
import { definitionIssuesOf, tenantDefinitions } from '../../../lambdas/interactions/validation/tenant-definitions.ts'
import type { Conformance } from '../../../lambdas/ports/definitions/conformance.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { ResourceKey, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'

const NOTHING: Conformance = {
  profile: async () => undefined,
  valueSet: async () => undefined,
  codeSystem: async () => undefined,
  state: async () => 'packages',
  damage: () => [],
}
const url = 'http://example.org/a'
const valueSet = (more: object = {}): Resource => ({
  resourceType: 'ValueSet', url, status: 'active', compose: { include: [{ system: 'http://example.org/s' }] }, ...more,
}) as Resource // biome-ignore format: one resource
const version = (id: string, resource: Resource | undefined, more: Partial<ResourceVersion> = {}): ResourceVersion => ({
  ...{ tenant: 't', type: 'ValueSet', id, versionId: 1, lastUpdated: 1, deleted: resource === undefined, compartments: [] },
  body: resource === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(resource)),
  ...more,
})

/** Of a tenant whose heads these are; all of them may carry the canonical. */
function of(heads: readonly ResourceVersion[], packages: Partial<Conformance> = {}): Promise<Conformance> {
  async function* carrying(): AsyncGenerator<readonly ResourceKey[]> {
    for (let at = 0; at < heads.length; at += 100) yield heads.slice(at, at + 100)
  }
  const current = async (keys: readonly ResourceKey[]) => keys.map(({ id }) => heads.find((head) => head.id === id))
  const canonicals = { carrying, state: async () => (heads.length === 0 ? '' : '1') }
  return tenantDefinitions({ packages: { ...NOTHING, ...packages }, canonicals, resources: { current } })('t')
}

describe('A canonical', () => {
  it('is resolved by current versions only, not by deleted or changed ones', async () => {
    const other = valueSet({ url: `${url}/b`, version: '9' })
    const found = await (await of([version('a', undefined), version('b', other), version('c', valueSet({ version: '1' }))])).valueSet(url)
    expect(found).toMatchObject({ url, version: '1' })
    expect(await (await of([version('a', undefined), version('b', other)])).valueSet(url)).toBeUndefined()
  })

  it('is resolved to the latest write of the same version', async () => {
    const heads = [3, 9, 5].map((lastUpdated) => {
      const include = [{ system: `http://example.org/${lastUpdated}` }]
      return version(`v${lastUpdated}`, valueSet({ version: '1', compose: { include } }), { lastUpdated })
    })
    expect(await (await of(heads)).valueSet(`${url}|1`)).toMatchObject({ include: [{ system: 'http://example.org/9' }] })
  })

  it('is resolved among many resources that have or had it', async () => {
    const heads = Array.from({ length: 350 }, (_, i) => version(`v${i}`, i % 2 === 0 ? undefined : valueSet({ version: `1.${i}.0` })))
    expect(await (await of(heads)).valueSet(url)).toMatchObject({ version: '1.349.0' })
    expect(await (await of(heads.toReversed())).valueSet(`${url}|1.7.0`)).toMatchObject({ version: '1.7.0' })
  })

  it('is resolved by packages if they have any version of it', async () => {
    const loaded = { url, version: '2', include: [] }
    const packages = { valueSet: async (asked: string) => (asked === url || asked === `${url}|2` ? loaded : undefined) }
    const own = await of([version('a', valueSet({ version: '1' }))], packages)
    expect(await Promise.all([url, `${url}|1`, `${url}|2`].map(own.valueSet))).toEqual([loaded, undefined, loaded])
  })

  it('rejects with the machine fault', async () => {
    const broken = { valueSet: async () => Promise.reject(new Error('no disk')) }
    await expect((await of([], broken)).valueSet(url)).rejects.toThrow('no disk')
  })
})

it('the state covers packages and the tenant', async () => {
  expect([await (await of([])).state(), await (await of([version('a', valueSet())])).state()]).toEqual(['packages', 'packages1'])
})

describe('A definition', () => {
  it('is unused if it is too large, with a warning', async () => {
    const large = valueSet({ description: 'x'.repeat(MAX_DEFINITION_BYTES) })
    expect(await (await of([version('a', large)])).valueSet(url)).toBeUndefined()
    expect((await new DefinitionReader().read(version('a', large))).content()).toBeUndefined()
    const told = await definitionIssuesOf(NOTHING, large)
    expect(told.map(({ severity, text }) => `${severity} ${text}`)).toEqual([
      `warning It takes no part in validation: It is larger than ${MAX_DEFINITION_BYTES} bytes`,
    ])
  })

  it('is written while packages are unavailable, with a warning', async () => {
    const failing = (error: Error) => ({ ...NOTHING, valueSet: async () => Promise.reject(error) })
    const told = await definitionIssuesOf(failing(new MachineFault('unavailable', 'no bucket')), valueSet())
    expect(told.map(({ severity, code, expression }) => `${severity} ${code} ${expression}`)).toEqual(['warning incomplete ValueSet.url'])
    await expect(definitionIssuesOf(failing(new Error('no disk')), valueSet())).rejects.toThrow('no disk')
  })

  it('has a warning without a url or codes', async () => {
    const told = async (more: object) => (await definitionIssuesOf(NOTHING, valueSet(more))).map(({ text }) => text)
    expect(await told({ url: undefined })).toEqual(['It has no url: it takes no part in validation'])
    expect(await told({ compose: undefined })).toEqual(['It takes no part in validation: It does not say which codes it has'])
    expect(await told({})).toEqual([])
  })

  it('has a warning for a url that is too long, alone or with its version', async () => {
    const told = async (more: object) =>
      (await definitionIssuesOf(NOTHING, valueSet(more))).map(({ expression, text }) => `${expression}: ${text}`)
    const long = (length: number) => `http://example.org/${'x'.repeat(length - 19)}`
    expect(await told({ url: long(2_001) })).toEqual(['ValueSet.url: It is longer than 2000 characters: it takes no part in validation'])
    expect(await told({ url: long(1_995), version: '1.0.0' })).toEqual([
      'ValueSet.version: It is found without its version only: both together are longer than 2000 characters',
    ])
    expect(await told({ url: long(1_990), version: '1.0.0' })).toEqual([])
  })

  it('has a warning for slices without a discriminator in its base', async () => {
    const over: Resource = {
      ...{ resourceType: 'StructureDefinition', url, status: 'active', kind: 'resource', type: 'Patient', derivation: 'constraint' },
      ...{ fhirVersion: '4.0.1', name: 'A', abstract: false, baseDefinition: `${url}/base` },
      differential: {
        element: ['name', 'contact'].map((part) => ({ id: `Patient.${part}:own`, path: `Patient.${part}`, sliceName: 'own' })),
      },
    }
    const slicing: Slicing = { discriminators: [{ type: 'value', path: 'use' }], rules: 'open' }
    const base: Profile = { url: `${url}/base`, type: 'Patient', isWhole: true, elements: [{ id: 'Patient.name', slicing }] }
    const told = await definitionIssuesOf({ ...NOTHING, profile: async (asked) => (asked === base.url ? base : undefined) }, over)
    expect(told.map(({ expression, text }) => `${expression}: ${text}`)).toEqual([
      expect.stringMatching(/^StructureDefinition.differential.element\[1\]: Nothing says what tells slices of Patient.contact apart/),
    ])
  })

  const naming = (code: string, ...parents: readonly string[]) => ({
    code,
    property: parents.map((valueCode) => ({ code: 'parent', valueCode })),
  })
  const circle = Array.from({ length: 210 }, (_, i) => `c${i}`)
  const long = 'C'.repeat(1_800)

  it.each([
    [
      'too many codes',
      Array.from({ length: 2_000 }, (_, i) => naming(`c${i}`, `c${i + 1}`)),
      'Its codes have more than 1000000 codes above them',
    ],
    [
      'too long codes',
      Array.from({ length: 200 }, (_, i) => naming(`${long}${i}`, `${long}${i + 1}`)),
      'The codes above its codes have more than 20000000 characters',
    ],
    [
      'codes that name each other too often',
      circle.map((code) => naming(code, ...circle)),
      'Above its codes others are named more than 4000000 times',
    ],
  ])('is unused if it is a code system with %s above others, with a warning', async (_, concept, reason) => {
    const system: Resource = { resourceType: 'CodeSystem', url, content: 'complete', concept }
    expect(await (await of([version('a', system)])).codeSystem(url)).toBeUndefined()
    const told = (await definitionIssuesOf(NOTHING, system)).map(({ text }) => text)
    expect(told).toEqual([`It takes no part in validation: ${reason}, in sum`])
  })

  it('is used if it is a code system with circles or long codes within limits', async () => {
    const few = circle.slice(0, 100)
    const system: Resource = {
      resourceType: 'CodeSystem',
      url,
      content: 'complete',
      concept: [...few.map((code) => naming(code, ...few)), naming(long)],
    }
    const { codes } = (await (await of([version('a', system)])).codeSystem(url))!
    expect([new Set(codes.c7), codes[long.toLowerCase()]]).toEqual([new Set(few.filter((code) => code !== 'c7')), []])
    expect(await definitionIssuesOf(NOTHING, system)).toEqual([])
  })

  it('is read once per version and tenant, within the cache limit', async () => {
    const one = version('a', valueSet())
    const reader = new DefinitionReader(2 * one.body.length)
    const first = await reader.read(one)
    expect(await reader.read(one)).toBe(first)
    const second = await reader.read({ ...one, versionId: 2 })
    expect(second).not.toBe(first)
    expect(await reader.read({ ...one, tenant: 'u' })).not.toBe(first)
    expect(await reader.read(one)).toBe(first)
    expect(await reader.read({ ...one, versionId: 2 })).not.toBe(second)
  })
})
