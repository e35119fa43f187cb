/** What the CapabilityStatement says of parameters somebody defined, where this server has the code by now. */
import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { ROUTES } from '../../../lambdas/catalogue/catalogue.ts'
import { PARAMETER_STATE_EXTENSION, SEARCH_GROUP_EXTENSION } from '../../../lambdas/fhir/own-extensions.ts'
import type { Element } from '../../../lambdas/fhir/resource.ts'
import { capabilities } from '../../../lambdas/interactions/capabilities/capabilities.ts'
import type { FhirRequest, Ports } from '../../../lambdas/interactions/interaction.ts'
import type { CustomMapping } from '../../../lambdas/search/custom-mapping.ts'
import { findSearchParameter } from '../../../lambdas/search/parameters.ts'
import type { Tree } from '../../fixtures/resources.ts'

it('the statement names added profiles after those of the server, each once', async () => {
  const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'
  const added = new Map([
    ['Patient', new Set(['http://x.y/b', US_CORE, 'http://x.y/a'])],
    ['Basic', new Set(['http://x.y/c'])],
    ['Extension', new Set(['http://x.y/d'])],
  ])
  const asked: string[] = []
  const profilesOf = async (tenant: string) => {
    asked.push(tenant)
    return added
  }
  const choices = { access: 'open', versioning: true, publicRead: '' } as Ports['choices']
  const request = { baseUrl: 'http://x.y/fhir', reading: {}, tenant: 'a' } as unknown as FhirRequest
  const { body } = await capabilities({ clock: { now: () => 0, newId: () => 'x' }, choices, profilesOf })(request)
  const [{ resource }] = (body as unknown as { readonly rest: readonly [{ readonly resource: readonly Element[] }] }).rest
  const of = (type: string) => resource.find((each) => each.type === type)?.supportedProfile
  expect([of('Patient'), of('Basic'), of('Flag'), asked]).toEqual([
    [US_CORE, 'http://x.y/a', 'http://x.y/b'],
    ['http://x.y/c'],
    undefined,
    ['a'],
  ])
})

it('the statement names each parameter code once', async () => {
  const own = {
    base: 'Patient',
    code: 'race',
    field: 'race~1',
    type: 'token',
    url: 'http://x.y/race',
    expression: 'Patient.active',
    values: [],
  }
  const choices = { access: 'open', versioning: true, publicRead: '' } as Ports['choices']
  const request = { baseUrl: 'http://x.y/fhir', reading: { custom: [own] } } as unknown as FhirRequest
  const { body } = await capabilities({ clock: { now: () => 0, newId: () => 'x' }, choices })(request)
  const [{ resource }] = (body as unknown as { readonly rest: readonly [{ readonly resource: readonly Element[] }] }).rest
  const { searchParam } = resource.find(({ type }) => type === 'Patient') as unknown as { readonly searchParam: readonly Element[] }
  expect(searchParam.filter(({ name }) => name === 'race')).toEqual([{ name: 'race', definition: 'http://x.y/race', type: 'token' }])
  expect(searchParam.filter(({ name }) => name === 'ethnicity')).toHaveLength(1)
})

async function statement(choices: object = {}): Promise<Tree> {
  const request = { baseUrl: 'http://x.y/fhir', reading: {} } as unknown as FhirRequest
  const all = { access: 'open', versioning: true, referentialIntegrity: false, publicRead: '', ...choices } as Ports['choices']
  return (await capabilities({ clock: { now: () => 0, newId: () => 'x' }, choices: all })(request)).body
}

const typeIn = ({ rest }: Tree, type: string): Tree => rest[0].resource.find((each: Tree) => each.type === type)

it('the statement names each operation with a route, and defines its own', async () => {
  const { rest, contained } = await statement()
  const routed = new Set(ROUTES.flatMap(({ path }) => /\$[\w-]+/.exec(path)?.[0].slice(1) ?? []))
  const claimed = [...rest[0].operation, ...rest[0].resource.flatMap(({ operation }: Tree) => operation)] as readonly Tree[]
  const names = new Set(claimed.map(({ name }) => name))
  expect([...routed].filter((name) => !names.has(name))).toEqual([])
  expect([...names].filter((name) => !routed.has(name)).toSorted()).toEqual(['group-export', 'patient-export'])
  const own = [...new Set(claimed.map(({ definition }) => definition).filter((definition) => definition.startsWith('#')))]
  const operations = contained.filter(({ resourceType }: Tree) => resourceType === 'OperationDefinition')
  expect(own).toEqual(operations.map(({ id }: Tree) => `#${id}`))
})

it('the statement names the server version and the compartments', async () => {
  const { software, rest } = await statement()
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  expect(software.version).toBe(version)
  expect(rest[0].compartment).toContain('http://hl7.org/fhir/CompartmentDefinition/relatedperson')
  expect(rest[0].compartment).toHaveLength(5)
})

it('the statement describes versions and references by the settings', async () => {
  const of = async (choices: object) => {
    const { versioning, readHistory, referencePolicy, interaction } = typeIn(await statement(choices), 'Patient')
    return [versioning, readHistory, referencePolicy, interaction.some(({ code }: Tree) => code === 'vread')]
  }
  expect(await of({})).toEqual(['versioned-update', true, ['literal', 'logical'], true])
  expect(await of({ versioning: false })).toEqual(['versioned-update', false, ['literal', 'logical'], false])
  expect(await of({ referentialIntegrity: true })).toEqual(['versioned-update', true, ['literal', 'logical', 'enforced'], true])
})

it('the statement names itself, and the parameters of every search that R4 does not define', async () => {
  const { id, url, name, title, publisher, version, software, rest } = await statement()
  expect([id, url, name, title, publisher, version]).toEqual([
    'fhir-server',
    'http://x.y/fhir/metadata',
    'FHIRServer',
    'FHIR R4 server',
    'FHIR R4 server',
    software.version,
  ])
  const names = rest[0].searchParam.map((each: Tree) => each.name)
  expect(names).toEqual(expect.arrayContaining(['_id', '_has', '_group', '_groupSort', '_groupCount', '_skip', '_page']))
  expect(new Set(names).size).toBe(names.length)
})

it('the statement contains the extensions of this server under their fixed URLs, and refers to them', async () => {
  const { contained, ...whole } = await statement()
  const extensions = contained.filter(({ resourceType }: Tree) => resourceType === 'StructureDefinition')
  expect(extensions.map(({ url }: Tree) => url)).toEqual([SEARCH_GROUP_EXTENSION, PARAMETER_STATE_EXTENSION])
  for (const { id } of extensions) expect(JSON.stringify(whole)).toContain(`"#${id}"`)
})

it('the statement names the one parameter of a code by which searches go', async () => {
  const own = (id: string): CustomMapping =>
    ({
      ...{
        tenant: 't',
        id,
        base: 'Patient',
        code: 'shoe',
        field: `shoe~${id}`,
        type: 'token',
        url: `http://x.y/${id}`,
        expression: 'Patient.active',
      },
      values: [],
    }) as unknown as CustomMapping
  const custom = [own('a'), own('b')]
  const choices = { access: 'open', versioning: true, publicRead: '' } as Ports['choices']
  const request = { baseUrl: 'http://x.y/fhir', reading: { custom } } as unknown as FhirRequest
  const { body } = await capabilities({ clock: { now: () => 0, newId: () => 'x' }, choices })(request)
  const shoes = typeIn(body as Tree, 'Patient').searchParam.filter((each: Tree) => each.name === 'shoe')
  expect(shoes).toEqual([{ name: 'shoe', definition: findSearchParameter('Patient', 'shoe', custom)!.url, type: 'token' }])
})
