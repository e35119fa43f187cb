/** Deferred rules apply wherever a profile is checked, also where the result decides which other rules apply. */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import type { Evaluation, ExpressionRunner } from '../../../lambdas/ports/execution/expression-runner.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { findErrors, PROFILE_URL, type ProfileElement, profile, profileCheckerOf } from '../../fixtures/profiles/checking.ts'

const url = (name: string): string => `http://example.org/${name}`
/** Only fhirpath.js can evaluate this rule. */
const matching = (id: string, path: string, pattern: string, key = 'own-1'): ProfileElement => ({
  id,
  constraint: [{ key, severity: 'error', human: `Matches ${pattern}`, expression: `${path}.matches('${pattern}')` }],
})
const named = (canonical: string, pattern: string, key?: string): Resource =>
  profile([matching('Patient', 'gender', pattern, key)], 'differential', canonical)
const patient = (gender: string, more: object = {}): object => ({ resourceType: 'Patient', gender, ...more })
const reference = (...targetProfile: readonly string[]) => [{ code: 'Reference', targetProfile }]

describe('a deferred rule', () => {
  it('decides whether the target of a reference conforms', async () => {
    const about = profile([{ id: 'Observation.subject', type: reference(url('m')) }])
    const find = profileCheckerOf([about, named(url('m'), '^m')], EXPRESSIONS)
    const observation = (gender: string): object => ({
      resourceType: 'Observation',
      subject: { reference: '#p' },
      contained: [patient(gender, { id: 'p' })],
    })
    expect(await findErrors(find, observation('male'))).toEqual([])
    expect(await findErrors(find, observation('female'))).toEqual([
      'Observation.subject: What is referred to is not as it must be: http://example.org/m',
    ])
  })

  it('distinguishes a contained resource from its container', async () => {
    const expression = '%resource = %rootResource implies meta.lastUpdated.exists()'
    const dated = profile(
      [{ id: 'Patient', constraint: [{ key: 'own-1', severity: 'error', human: 'Dated', expression }] }],
      'differential',
      url('dated'),
    )
    const about = profile([{ id: 'Observation.subject', type: reference(url('dated')) }])
    const find = profileCheckerOf([about, dated], EXPRESSIONS)
    const contained = { resourceType: 'Observation', subject: { reference: '#p' }, contained: [patient('male', { id: 'p' })] }
    expect((await find(contained as Resource, [PROFILE_URL])).issues.filter(({ text }) => text.includes('own-1'))).toEqual([])
    const textsOf = async (more: object) => (await find(patient('male', more) as Resource, [url('dated')])).issues.map(({ text }) => text)
    expect(await textsOf({})).toContain(`Dated (own-1, ${url('dated')})`)
    expect((await textsOf({ meta: { lastUpdated: '2026-01-01T00:00:00Z' } })).filter((text) => text.includes('own-1'))).toEqual([])
  })

  it('decides which of several profiles applies', async () => {
    const either = [url('m'), url('f')]
    const entries = profile([{ id: 'Bundle.entry.resource', type: [{ code: 'Patient', profile: either }] }])
    const find = profileCheckerOf([entries, named(url('m'), '^m'), named(url('f'), '^f')], EXPRESSIONS)
    const bundle = (gender: string): object => ({ resourceType: 'Bundle', type: 'collection', entry: [{ resource: patient(gender) }] })
    expect(await findErrors(find, bundle('male'))).toEqual([])
    expect(await findErrors(find, bundle('female'))).toEqual([])
    expect(await findErrors(find, bundle('other'))).toEqual(['Bundle.entry[0].resource: Matches ^m (own-1)'])
  })

  it('decides which slice an element belongs to', async () => {
    const sliced: readonly ProfileElement[] = [
      { id: 'Bundle.entry', slicing: { discriminator: [{ type: 'profile', path: 'resource' }], rules: 'open' } },
      { id: 'Bundle.entry:m', min: 1, max: '1' },
      { id: 'Bundle.entry:m.resource', type: [{ code: 'Patient', profile: [url('m')] }] },
      { id: 'Bundle.entry:f', max: '1' },
      { id: 'Bundle.entry:f.resource', type: [{ code: 'Patient', profile: [url('f')] }] },
    ]
    const find = profileCheckerOf([profile(sliced), named(url('m'), '^m'), named(url('f'), '^f')], EXPRESSIONS)
    const bundle = (...genders: readonly string[]): object => ({
      resourceType: 'Bundle',
      type: 'collection',
      entry: genders.map((gender) => ({ resource: patient(gender) })),
    })
    expect(await findErrors(find, bundle('female', 'male', 'other'))).toEqual([])
    expect(await findErrors(find, bundle('female', 'other'))).toEqual(['Bundle.entry: m<1'])
    expect(await findErrors(find, bundle('male', 'female', 'female'))).toEqual(['Bundle.entry: f>1'])
    const byFit = sliced.map((said) => ('slicing' in said ? { ...said, slicing: { rules: 'open' } } : said))
    const fitting = profileCheckerOf([profile(byFit), named(url('m'), '^m'), named(url('f'), '^f')], EXPRESSIONS)
    expect(await findErrors(fitting, bundle('female', 'other'))).toEqual(['Bundle.entry: m<1'])
    expect(await findErrors(fitting, bundle('other', 'male'))).toEqual([])
  })

  it('belongs to its profile, although other profiles use the same key', async () => {
    const [m, a] = [named(url('m'), '^m'), named(url('a'), 'a')]
    const find = profileCheckerOf([m, a, named(PROFILE_URL, 'x', 'own-2')], EXPRESSIONS)
    const errors = async (gender: string, ...profiles: readonly string[]): Promise<readonly string[]> => {
      const { issues } = await find(patient(gender) as Resource, profiles)
      return issues.filter(({ severity }) => severity === 'error').map(({ text }) => text.replace(/ \(.*/, ''))
    }
    expect(await errors('other', url('m'), url('a'))).toEqual(['Matches ^m', 'Matches a'])
    expect(await errors('female', url('m'), url('a'))).toEqual(['Matches ^m'])
    expect(await errors('male', url('m'), url('a'), PROFILE_URL)).toEqual(['Matches x'])
    expect(await errors('male', url('m'), url('a'))).toEqual([])
  })

  it('applies to elements with a content reference', async () => {
    const nested = { id: 'Questionnaire.item.item', contentReference: '#Questionnaire.item' }
    const find = profileCheckerOf([profile([matching('Questionnaire.item', 'linkId', '^[a-z]+$'), nested])], EXPRESSIONS)
    const item = (linkId: string, ...below: readonly object[]): object => ({ linkId, ...(below.length === 0 ? {} : { item: below }) })
    expect(await findErrors(find, { resourceType: 'Questionnaire', item: [item('a', item('b'), item('2', item('3')))] })).toEqual([
      'Questionnaire.item[0].item[1]: Matches ^[a-z]+$ (own-1)',
      'Questionnaire.item[0].item[1].item[0]: Matches ^[a-z]+$ (own-1)',
    ])
  })

  it('is evaluated once per element, however often profiles need it', async () => {
    const given: Evaluation[] = []
    const expressions: ExpressionRunner = {
      evaluate: (evaluations, budget) => {
        given.push(...evaluations)
        return EXPRESSIONS.evaluate(evaluations, budget)
      },
    }
    const either = (canonical: string): Resource =>
      profile([{ id: 'Bundle.entry.resource', type: [{ code: 'Patient', profile: [url('m'), url('f')] }] }], 'differential', canonical)
    const find = profileCheckerOf([either(PROFILE_URL), either(url('again')), named(url('m'), '^m'), named(url('f'), '^f')], expressions)
    const entry = ['male', 'female'].map((gender) => ({ resource: patient(gender) }))
    await find({ resourceType: 'Bundle', type: 'collection', entry }, [PROFILE_URL, url('again')])
    const evaluated = given.map(({ expression, resource }) => `${JSON.parse(resource).gender}.${expression.split('.')[1]}`)
    expect(evaluated).toEqual(["male.matches('^m')", "female.matches('^m')", "female.matches('^f')"])
  })
})
