/** Rules beyond US Core: the unit of a lab result is in UCUM, and a procedure has a time. Specification 2.2, 2.3 */
import { afterEach, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { profileChecker } from '../../../lambdas/interactions/validation/profile-findings.ts'
import type { Evaluation, ExpressionRunner } from '../../../lambdas/ports/execution/expression-runner.ts'
import { DEFAULT_TENANT } from '../../../lambdas/ports/store/tenants.ts'
import { definitionsOf } from '../../../lambdas/runtime/definitions.ts'
import { FIXED_CLOCK, PASSING_RUNNER } from '../../fixtures/profiles/checking.ts'
import { US_CORE_EXAMPLES } from '../../fixtures/us-core/examples.ts'
import { copyExample, profilesOf, US_CORE } from '../../fixtures/us-core/findings.ts'

/** Evaluations that would leave the process. */
const sent: Evaluation[] = []
const expressions: ExpressionRunner = {
  async evaluate(evaluations, how) {
    sent.push(...evaluations)
    return PASSING_RUNNER.evaluate(evaluations, how)
  },
}
const packages = definitionsOf()
const find = profileChecker({ conformance: async () => packages, expressions, clock: FIXED_CLOCK })

// The process evaluates these rules itself.
afterEach(() => {
  expect(sent.filter(({ expression }) => expression.includes('unitsofmeasure') || expression.includes('performed'))).toEqual([])
})

/** Returns `severity expression key` of the findings about these rules, and about us-core-7. */
async function told(resource: Resource, profile: string): Promise<readonly string[]> {
  const { issues } = await find(resource, [`${US_CORE}${profile}`], { tenant: DEFAULT_TENANT })
  return issues.flatMap(({ severity, expression, text }) => {
    const key = /\((beyond-us-core-\d|us-core-7), /.exec(text)?.[1]
    return key === undefined ? [] : [`${severity} ${expression} ${key}`]
  })
}

// biome-ignore lint/suspicious/noExplicitAny: what a test changes has any shape
type Tree = Record<string, any>

const UCUM = 'http://unitsofmeasure.org'
const component = (value: object) => ({ code: { text: 'x' }, ...value })
const VALUE = 'warning Observation.value beyond-us-core-1'

it.each<readonly [string, Tree, readonly string[]]>([
  ['a code of UCUM', { valueQuantity: { value: 1, unit: 'mmol', system: UCUM, code: 'mmol' } }, []],
  ['a comparator beside the code', { valueQuantity: { value: 1, comparator: '<', system: UCUM, code: '1' } }, []],
  ['a unit alone', { valueQuantity: { value: 1, unit: 'mmol' } }, [VALUE]],
  ['a system without a code', { valueQuantity: { value: 1, system: UCUM } }, [VALUE]],
  ['a code without a system', { valueQuantity: { value: 1, code: 'mmol' } }, [VALUE]],
  ['a code of another system', { valueQuantity: { value: 1, system: 'http://snomed.info/sct', code: '258718000' } }, [VALUE]],
  ['a value of 0', { valueQuantity: { value: 0 } }, [VALUE]],
  ['no number', { valueQuantity: { extension: [{ url: 'http://x.y', valueString: 'z' }] } }, []],
  ['a text', { valueString: '5 mmol' }, []],
  ['a code', { valueCodeableConcept: { text: 'x' } }, []],
  ['a ratio', { valueRatio: { numerator: { value: 1 }, denominator: { value: 2 } } }, []],
  ['a range', { valueRange: { low: { value: 1 } } }, []],
  ['an integer', { valueInteger: 5 }, []],
  ['a component with a code', { component: [component({ valueQuantity: { value: 1, system: UCUM, code: 'g' } })] }, []],
  [
    'a second component without a code',
    { component: [component({ valueString: 'x' }), component({ valueQuantity: { value: 1, unit: 'g' } })] },
    ['warning Observation.component[1].value beyond-us-core-1'],
  ],
])('the unit of a lab result is checked: %s', async (_, value, expected) => {
  const resource: Tree = copyExample('Observation/serum-sodium')
  delete resource.valueQuantity
  expect(await told({ ...resource, ...value } as Resource, 'us-core-observation-lab')).toEqual(expected)
})

it('an observation that is no lab result may have any unit', async () => {
  const resource = { ...copyExample('Observation/serum-sodium'), valueQuantity: { value: 1, unit: 'mmol' } }
  expect(await told(resource, 'us-core-observation-clinical-result')).toEqual([])
})

const MISSING = 'error Procedure us-core-7'
const UNTOLD = 'warning Procedure beyond-us-core-2'
const STATUSES = ['preparation', 'in-progress', 'not-done', 'on-hold', 'stopped', 'completed', 'entered-in-error', 'unknown']

it.each(STATUSES)('a procedure that is %s gives a finding if it has no performed time', async (status) => {
  const { performedDateTime, performedPeriod, ...untold } = copyExample('Procedure/rehab')
  expect([performedDateTime, performedPeriod].filter((each) => each !== undefined)).toHaveLength(1)
  const expected = status === 'completed' || status === 'in-progress' ? MISSING : UNTOLD
  expect(await told({ ...untold, status } as Resource, 'us-core-procedure')).toEqual([expected])
  for (const performed of [{ performedDateTime: '2020-01-01' }, { performedString: 'x' }, { performedAge: { value: 1 } }])
    expect(await told({ ...untold, ...performed, status } as Resource, 'us-core-procedure')).toEqual([])
})

it('only lab results without a unit code give findings among US Core examples', async () => {
  const isLab = (resource: Resource): boolean => profilesOf(resource).includes(`${US_CORE}us-core-observation-lab`)
  const isWithout = ({ valueQuantity }: Tree): boolean => valueQuantity !== undefined && valueQuantity.code === undefined
  const wanted = US_CORE_EXAMPLES.filter((resource) => isLab(resource) && isWithout(resource)).map(({ id }) => id)
  expect(wanted).toContain('serum-sodium')
  const found: unknown[] = []
  for (const resource of US_CORE_EXAMPLES)
    for (const profile of profilesOf(resource))
      if ((await told(resource, profile.slice(US_CORE.length))).length > 0) found.push(resource.id)
  expect(found).toEqual(wanted)
})
