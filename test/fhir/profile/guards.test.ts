/** Limits of profile rules: alternatives, circles, chains, and entries with the same URL. https://hl7.org/fhir/R4/profiling.html */
import { describe, expect, it } from '@jest/globals'
import { buildPackage } from '../../../lambdas/fhir/profile/definitions/package-files.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import {
  findErrors,
  PROFILE_URL,
  type ProfileElement,
  profile,
  profileCheckerOf,
  R4_CANONICAL_BASE,
} from '../../fixtures/profiles/checking.ts'

const url = (name: string): string => `http://example.org/${name}`
const target = (...targetProfile: readonly string[]) => [{ code: 'Reference', targetProfile }]
const bundle = (...entries: readonly object[]): object => ({ resourceType: 'Bundle', type: 'collection', entry: entries })
const named = profile([{ id: 'Patient.name', min: 1 }], 'differential', url('named'))

async function texts(definitions: readonly Resource[], resource: object): Promise<readonly string[]> {
  const { issues } = await profileCheckerOf(definitions)(resource as Resource, [PROFILE_URL])
  return issues.filter(({ text }) => !text.includes('dom-6')).map(({ severity, text }) => `${severity}: ${text}`)
}

describe('profiles of an element', () => {
  it('are not checked if one of them is the R4 type itself', async () => {
    const whole = profile([{ id: 'Patient.name', type: [{ code: 'HumanName', profile: [`${R4_CANONICAL_BASE}HumanName`, url('name')] }] }])
    const family = profile([{ id: 'HumanName.family', min: 1 }], 'differential', url('name'))
    expect(await texts([whole, family], { resourceType: 'Patient', name: [{ text: 'x' }] })).toEqual([])
  })

  it('are checked to the end if references form a circle', async () => {
    const linked = profile([
      { id: 'Patient.link.other', type: target(PROFILE_URL) },
      { id: 'Patient.name', min: 1 },
    ])
    const patient = (id: string, other: string): object => ({
      fullUrl: `http://example.org/Patient/${id}`,
      resource: {
        resourceType: 'Patient',
        id,
        meta: { profile: [PROFILE_URL] },
        name: [{ text: id }],
        link: [{ other: { reference: `Patient/${other}` } }],
      },
    })
    const { issues } = await profileCheckerOf([linked])(bundle(patient('a', 'b'), patient('b', 'a')) as Resource, [])
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([])
  })

  it('allow any target if one of them is Resource', async () => {
    const about = profile([{ id: 'Observation.focus', type: target(url('named'), `${R4_CANONICAL_BASE}Resource`) }])
    expect(await findErrors(profileCheckerOf([named, about]), { resourceType: 'Observation', focus: [{ reference: 'Group/1' }] })).toEqual(
      [],
    )
  })
})

describe('the target of a reference in a Bundle', () => {
  const about = profile([{ id: 'Observation.subject', type: target(url('named')) }], 'differential', url('about'))
  const fullUrl = 'http://example.org/Patient/p'

  it('is the first entry with that fullUrl', async () => {
    const observation = { resource: { resourceType: 'Observation', meta: { profile: [url('about')] }, subject: { reference: fullUrl } } }
    const [with1, without] = [{ name: [{ text: 'x' }] }, {}].map((more) => ({ fullUrl, resource: { resourceType: 'Patient', ...more } }))
    const errors = async (...entries: readonly object[]): Promise<number> => {
      const { issues } = await profileCheckerOf([named, about])(bundle(observation, ...entries) as Resource, [])
      return issues.filter(({ severity }) => severity === 'error').length
    }
    expect([await errors(with1!, without!), await errors(without!, with1!)]).toEqual([0, 1])
  })

  it('resolves references to its own contained resources', async () => {
    const member = profile([{ id: 'Observation.hasMember', type: target(url('about')) }], 'differential', url('member'))
    const group = {
      resource: { resourceType: 'Observation', meta: { profile: [url('member')] }, hasMember: [{ reference: 'Observation/o' }] },
    }
    const errors = async (name: object): Promise<number> => {
      const contained = [{ resourceType: 'Patient', id: 'p', ...name }]
      const own = { resource: { resourceType: 'Observation', id: 'o', contained, subject: { reference: '#p' } } }
      const { issues } = await profileCheckerOf([named, about, member])(bundle(group, own) as Resource, [])
      return issues.filter(({ severity }) => severity === 'error').length
    }
    expect([await errors({ name: [{ text: 'x' }] }), await errors({})]).toEqual([0, 1])
  })
})

it('a slice by absence matches if a parent of the element is not allowed', async () => {
  const elements: readonly ProfileElement[] = [
    { id: 'Patient.contact', slicing: { discriminator: [{ type: 'exists', path: 'name.family' }], rules: 'closed' } },
    { id: 'Patient.contact:nameless', min: 1 },
    { id: 'Patient.contact:nameless.name', max: '0' },
  ]
  const find = profileCheckerOf([profile(elements)])
  expect(await findErrors(find, { resourceType: 'Patient', contact: [{ gender: 'male' }] })).toEqual([])
  expect(await findErrors(find, { resourceType: 'Patient', contact: [{ name: { family: 'x' } }] })).toHaveLength(2)
})

describe('extensions', () => {
  const own = (elements: readonly ProfileElement[], name: string): Resource => ({
    ...profile([{ id: 'Extension.url', fixedUri: url(name) }, ...elements], 'differential', url(name)),
    context: [{ type: 'element', expression: 'Element' }],
  })
  const inner = own([{ id: 'Extension.value[x]', min: 1 }], 'inner')
  const outer = own(
    [
      { id: 'Extension.extension:part', max: '1' },
      { id: 'Extension.extension:part.url', fixedUri: 'part' },
    ],
    'outer',
  )
  const find = profileCheckerOf([profile([{ id: 'Basic.code', mustSupport: true }]), inner, outer])

  it('are rejected in modifierExtension unless they are modifiers', async () => {
    const basic = { resourceType: 'Basic', modifierExtension: [{ url: url('inner'), valueString: 'x' }] }
    expect(await findErrors(find, basic)).toEqual(['Basic.modifierExtension[0]: This extension must stand in extension'])
  })

  it('within other extensions are checked against their own definitions', async () => {
    const within = (more: object): object => ({
      resourceType: 'Basic',
      extension: [{ url: url('outer'), extension: [{ url: url('inner'), ...more }] }],
    })
    expect(await findErrors(find, within({ valueString: 'x' }))).toEqual([])
    expect(await findErrors(find, within({}))).toEqual(['Basic.extension[0].extension[0]: value is required'])
  })
})

describe('derived profiles', () => {
  it('need a baseDefinition', () => {
    const { baseDefinition: _, ...baseless } = profile([{ id: 'Patient.name', min: 1 }])
    const { leftOut } = buildPackage({ name: 'own', version: '1' }, [baseless as Resource], () => false)
    expect(leftOut).toEqual([{ url: PROFILE_URL, reason: 'It has a differential and no baseDefinition' }])
  })

  it('may form a chain of at most a hundred', async () => {
    const chain = (length: number): readonly Resource[] =>
      Array.from({ length }, (_, i) =>
        profile(
          [{ id: 'Patient.name', min: 1 }],
          'differential',
          i === 0 ? PROFILE_URL : url(`p${i}`),
          i + 1 < length ? url(`p${i + 1}`) : undefined,
        ),
      )
    const reasons = async (length: number) =>
      (await profileCheckerOf(chain(length))({ resourceType: 'Patient' }, [PROFILE_URL])).unusable.map(({ reason }) => reason)
    expect(await reasons(100)).toEqual([])
    expect(await reasons(101)).toEqual([`${url('p100')} differs from too many others`])
  })
})
