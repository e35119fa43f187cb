/** What the CapabilityStatement says of parameters somebody defined, where this server has the code by now. */
import { expect, it } from '@jest/globals'
import type { Element } from '../../lambdas/fhir/resource.ts'
import { capabilities } from '../../lambdas/interactions/capabilities.ts'
import type { FhirRequest, Ports } from '../../lambdas/interactions/interaction.ts'

it('names the profiles that were added after those of the server, each once', async () => {
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
  const choices = { access: 'open', versioning: true } as Ports['choices']
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

it('names each code once', async () => {
  const own = {
    base: 'Patient',
    code: 'race',
    field: 'race~1',
    type: 'token',
    url: 'http://x.y/race',
    expression: 'Patient.active',
    values: [],
  }
  const choices = { access: 'open', versioning: true } as Ports['choices']
  const request = { baseUrl: 'http://x.y/fhir', reading: { custom: [own] } } as unknown as FhirRequest
  const { body } = await capabilities({ clock: { now: () => 0, newId: () => 'x' }, choices })(request)
  const [{ resource }] = (body as unknown as { readonly rest: readonly [{ readonly resource: readonly Element[] }] }).rest
  const { searchParam } = resource.find(({ type }) => type === 'Patient') as unknown as { readonly searchParam: readonly Element[] }
  expect(searchParam.filter(({ name }) => name === 'race')).toEqual([{ name: 'race', definition: 'http://x.y/race', type: 'token' }])
  expect(searchParam.filter(({ name }) => name === 'ethnicity')).toHaveLength(1)
})
