/** What profiles do not ask, and where what they ask ends: circles, chains, what is named twice. https://hl7.org/fhir/R4/profiling.html */
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

describe('profiles of what an element holds', () => {
  it('are not asked where R4 itself is one of them', async () => {
    const whole = profile([{ id: 'Patient.name', type: [{ code: 'HumanName', profile: [`${R4_CANONICAL_BASE}HumanName`, url('name')] }] }])
    const family = profile([{ id: 'HumanName.family', min: 1 }], 'differential', url('name'))
    expect(await texts([whole, family], { resourceType: 'Patient', name: [{ text: 'x' }] })).toEqual([])
  })

  it('end where a circle closes', async () => {
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

  it('are those of any resource where it may be any', async () => {
    const about = profile([{ id: 'Observation.focus', type: target(url('named'), `${R4_CANONICAL_BASE}Resource`) }])
    expect(await findErrors(profileCheckerOf([named, about]), { resourceType: 'Observation', focus: [{ reference: 'Group/1' }] })).toEqual(
      [],
    )
  })
})

describe('what is referred to in a Bundle', () => {
  const about = profile([{ id: 'Observation.subject', type: target(url('named')) }], 'differential', url('about'))
  const fullUrl = 'http://example.org/Patient/p'

  it('is the first entry of that name', async () => {
    const observation = { resource: { resourceType: 'Observation', meta: { profile: [url('about')] }, subject: { reference: fullUrl } } }
    const [with1, without] = [{ name: [{ text: 'x' }] }, {}].map((more) => ({ fullUrl, resource: { resourceType: 'Patient', ...more } }))
    const errors = async (...entries: readonly object[]): Promise<number> => {
      const { issues } = await profileCheckerOf([named, about])(bundle(observation, ...entries) as Resource, [])
      return issues.filter(({ severity }) => severity === 'error').length
    }
    expect([await errors(with1!, without!), await errors(without!, with1!)]).toEqual([0, 1])
  })

  it('refers to what it contains itself', async () => {
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

it('an item belongs to a slice by what cannot be there, as what is above it may not', async () => {
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

  it('that change no meaning stand in no modifierExtension', async () => {
    const basic = { resourceType: 'Basic', modifierExtension: [{ url: url('inner'), valueString: 'x' }] }
    expect(await findErrors(find, basic)).toEqual(['Basic.modifierExtension[0]: This extension must stand in extension'])
  })

  it('of their own within others are checked against their own definitions', async () => {
    const within = (more: object): object => ({
      resourceType: 'Basic',
      extension: [{ url: url('outer'), extension: [{ url: url('inner'), ...more }] }],
    })
    expect(await findErrors(find, within({ valueString: 'x' }))).toEqual([])
    expect(await findErrors(find, within({}))).toEqual(['Basic.extension[0].extension[0]: value is required'])
  })
})

describe('profiles that differ from others', () => {
  it('need one that they differ from', () => {
    const { baseDefinition: _, ...baseless } = profile([{ id: 'Patient.name', min: 1 }])
    const { leftOut } = buildPackage({ name: 'own', version: '1' }, [baseless as Resource], () => false)
    expect(leftOut).toEqual([{ url: PROFILE_URL, reason: 'It has a differential and no baseDefinition' }])
  })

  it('are at most a hundred in a row', async () => {
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
