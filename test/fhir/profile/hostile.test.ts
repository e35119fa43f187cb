/** Hostile profiles and resources: nothing throws, the work is bounded, and no finding contains a value. */
import { expect, it } from '@jest/globals'
import { ProfileIssues } from '../../../lambdas/fhir/profile/profile-issues.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { IssueLimitReached } from '../../../lambdas/fhir/validate/findings.ts'
import { PROFILE_URL, type ProfileElement, profile, profileCheckerOf } from '../../fixtures/profiles/checking.ts'

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const patient = (more: object): Resource => ({ resourceType: 'Patient', ...more })
const onSystem = { discriminator: [{ type: 'value', path: 'system' }], rules: 'open' }

it('the check stops one error after the last that is listed', () => {
  const faults = new ProfileIssues(['Patient'])
  const report = (i: number): void => faults.report('error', 'invalid', `rule-${i}`, 'wrong')
  for (let i = 0; i < 100; i++) report(i)
  expect(() => report(100)).toThrow(IssueLimitReached)
  expect([faults.issues.length, faults.issues.at(-1)?.code]).toEqual([101, 'informational'])
})

it('only the first hundred findings are listed, errors first', async () => {
  const find = profileCheckerOf([profile([{ id: 'Patient.name.family', min: 1 }])])
  const { issues } = await find(patient({ name: many(200_000, () => ({ text: 'x' })) }), [PROFILE_URL])
  expect(issues).toHaveLength(101)
  expect(issues.slice(0, 100).every(({ severity }) => severity === 'error')).toBe(true)
  expect(issues[100]?.text).toBe('There are more findings; the first 100 are listed')
})

/** Checks items that belong to none of the slices. */
async function slicing(sliceCount: number, itemCount: number) {
  const slices = many(sliceCount, (i): ProfileElement[] => [
    { id: `Patient.identifier:s${i}`, max: '1' },
    { id: `Patient.identifier:s${i}.system`, fixedUri: `s${i}` },
  ])
  const find = profileCheckerOf([profile([{ id: 'Patient.identifier', slicing: onSystem }, ...slices.flat()])])
  const { issues } = await find(patient({ identifier: many(itemCount, (i) => ({ system: `x${i}` })) }), [PROFILE_URL])
  return issues.filter(({ severity }) => severity === 'error').map(({ code, expression }) => [code, expression])
}

it('the check stops at ten thousand slices of ten thousand items', async () => {
  expect(await slicing(10_000, 10_000)).toEqual([['too-costly', 'Patient']])
})

it('assigning items to slices counts as work', async () => {
  expect(await slicing(100, 60)).toEqual([])
  expect(await slicing(100, 120)).toEqual([['too-costly', 'Patient']])
})

it('member names of JavaScript objects are ordinary names', async () => {
  const hostile = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  const elements = hostile.flatMap((name): ProfileElement[] => [
    { id: `Patient.identifier:${name}`, max: '0' },
    { id: `Patient.identifier:${name}.system`, fixedUri: name },
  ])
  const find = profileCheckerOf([profile([{ id: 'Patient.identifier', slicing: onSystem }, ...elements])])
  const body = JSON.parse(`{"resourceType":"Patient",${hostile.map((name) => `"${name}":{"a":[{"b":1}]}`).join()}}`)
  const { issues } = await find({ ...body, identifier: hostile.map((system) => ({ system })) }, [PROFILE_URL, ...hostile])
  expect(issues.filter(({ severity }) => severity === 'error')).toHaveLength(4)
})

it('findings contain no values and shorten long canonical URLs', async () => {
  const find = profileCheckerOf([
    profile([
      { id: 'Patient.name', max: '0' },
      { id: 'Patient.gender', fixedCode: 'x' },
      { id: 'Patient.birthDate', maxValueDate: '1900' },
    ]),
  ])
  const long = `http://example.org/${'x'.repeat(1_000_000)}`
  const secret = patient({
    name: [{ text: 'SECRET' }],
    gender: 'SECRET',
    birthDate: '2000-SECRET',
    extension: [{ url: long, valueString: 'SECRET' }],
  })
  const { issues, missing } = await find(secret, [PROFILE_URL, long])
  expect(missing).toEqual([long])
  expect(JSON.stringify(issues)).not.toContain('SECRET')
  expect(Math.max(...issues.map(({ text }) => text.length))).toBeLessThan(1_000)
})

it('the check ends if value sets form a circle or double with each level', async () => {
  const set = (url: string, ...valueSets: string[]): Resource => ({
    resourceType: 'ValueSet',
    url,
    compose: { include: valueSets.map((each) => ({ valueSet: [each] })) },
  })
  const bound = profile([{ id: 'Patient.gender', binding: { strength: 'required', valueSet: 'http://example.org/0' } }])
  const circle = [set('http://example.org/0', 'http://example.org/1'), set('http://example.org/1', 'http://example.org/0')]
  const { issues } = await profileCheckerOf([bound, ...circle])(patient({ gender: 'male' }), [PROFILE_URL])
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([])
  const doubled = many(40, (i) => set(`http://example.org/${i}`, `http://example.org/${i + 1}`, `http://example.org/${i + 1}`))
  const found = await profileCheckerOf([bound, ...doubled])(patient({ gender: 'male' }), [PROFILE_URL])
  expect(found.issues.filter(({ severity }) => severity === 'error').map(({ code }) => code)).toEqual(['too-costly'])
})
