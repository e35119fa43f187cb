/** Rules of definitions that are not built in: linear rules run in this process, all others in a process that can be ended. */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import type {
  Evaluation,
  EvaluationResult,
  ExpressionBudget,
  ExpressionRunner,
} from '../../../lambdas/ports/execution/expression-runner.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import { DEFAULT_TENANT } from '../../../lambdas/ports/store/tenants.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { findErrors, PROFILE_URL, type ProfileElement, profile, profileCheckerOf } from '../../fixtures/profiles/checking.ts'

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const constraint = (expression: string, key = 'own-1') => [{ key, severity: 'error', human: 'Said', expression }]
const regex = (valueString: string) => [{ url: 'http://hl7.org/fhir/StructureDefinition/regex', valueString }]
const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
const patient = (more: object): Resource => ({ resourceType: 'Patient', text, ...more })

/** Records its evaluations and gives each the same result. */
function recording(outcome: EvaluationResult) {
  const given: Evaluation[] = []
  const expressions: ExpressionRunner = {
    evaluate: async (evaluations) => {
      given.push(...evaluations)
      return evaluations.map(() => outcome)
    },
  }
  return { given, expressions }
}

const TRUE: EvaluationResult = { ms: 0, values: [{ type: 'boolean', value: true }] }
const FALSE: EvaluationResult = { ms: 0, values: [{ type: 'boolean', value: false }] }
const COSTLY: EvaluationResult = { ms: 300, failure: 'too-costly', name: 'TookTooLong', reason: '' }

describe('a custom rule', () => {
  // biome-ignore format: a table
  it.each([
    ['a pattern', "family.matches('a+')", 'elsewhere'],
    ['a replacement by a pattern', "family.replaceMatches('a+', 'b') = 'b'", 'elsewhere'],
    ['the whole resource', '%resource.name.count() < 3', 'elsewhere'],
    ['the outermost resource', '%rootResource.id.empty()', 'elsewhere'],
    ['all descendants', 'descendants().count() < 9', 'elsewhere'],
    ['a comparison of all items', 'given.isDistinct()', 'elsewhere'],
    ['items that double with each step', `given${'.select($this|$this.where(true))'.repeat(12)}.exists()`, 'elsewhere'],
    ['a function that the compiler does not support', 'given.repeat($this).exists()', 'elsewhere'],
    ['linear work', "given.exists() and family.startsWith('x') and given.where($this = 'y').empty()", 'here'],
  ])('is evaluated here if it is linear, and elsewhere otherwise: %s: %s', async (_name, expression, where) => {
    const { given, expressions } = recording(TRUE)
    const find = profileCheckerOf([profile([{ id: 'Patient.name', constraint: constraint(expression) }])], expressions)
    const { issues } = await find(patient({ name: [{ family: 'x', given: ['z'] }] }), [PROFILE_URL])
    expect(issues).toEqual([])
    expect(given.map(({ expression }) => expression)).toEqual(where === 'here' ? [] : [expression])
  })

  it('is evaluated here if it belongs to a built-in profile', async () => {
    const { given, expressions } = recording(TRUE)
    const canonical = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-practitioner'
    const identifier = [{ system: 'http://hl7.org/fhir/sid/us-npi', value: '12' }]
    const { issues } = await profileCheckerOf([], expressions)({ resourceType: 'Practitioner', identifier, name: [{ family: 'x' }] }, [
      canonical,
    ])
    expect(issues.map(({ text }) => text)).toContainEqual(expect.stringContaining('us-core-16'))
    expect(given.map(({ expression }) => expression)).not.toContainEqual(expect.stringContaining('matches('))
  })
})

describe('a text pattern', () => {
  const PATTERN = String.raw`it's \d+\\|é{2}`
  const find = profileCheckerOf([profile([{ id: 'Patient.name.text', extension: regex(PATTERN) }])], EXPRESSIONS)

  it('has to match the whole text', async () => {
    for (const kept of [String.raw`it's 12\ `.trim(), 'éé']) expect(await findErrors(find, patient({ name: [{ text: kept }] }))).toEqual([])
    for (const broken of ["it's 12", 'éée', 'its 12\\'])
      expect(await findErrors(find, patient({ name: [{ text: broken }] }))).toEqual([
        `Patient.name[0].text: text must match ${PATTERN} (regex)`,
      ])
  })

  it('is reported where it applies if it is invalid or takes too long', async () => {
    const elements = [
      { id: 'Patient.language', extension: regex('(a+)+b') },
      { id: 'Patient.gender', extension: regex('(') },
    ]
    const { issues } = await profileCheckerOf([profile(elements)], EXPRESSIONS)(patient({ language: 'a'.repeat(40), gender: 'x' }), [
      PROFILE_URL,
    ])
    expect(issues.filter(({ severity }) => severity === 'warning').map(({ code, expression }) => [code, expression])).toEqual([
      ['too-costly', 'Patient.language'],
      ['not-supported', 'Patient.gender'],
    ])
  })
})

describe('deferred rules', () => {
  const own: ProfileElement[] = [{ id: 'Patient.name', constraint: constraint("text.matches('a')") }]
  const named = (count: number): Resource => patient({ name: many(count, (i) => ({ text: `${i}` })) })

  it('give a warning if they take too long, or an error if enforced', async () => {
    const find = profileCheckerOf([profile(own)], recording(COSTLY).expressions)
    for (const [isEnforced, severity] of [[false, 'warning'], [true, 'error']] as const) // biome-ignore format: two
      expect((await find(named(1), [PROFILE_URL], { isEnforced })).issues).toEqual([
        { severity, code: 'too-costly', expression: 'Patient.name[0]', text: `The rule own-1 takes too long to evaluate (${PROFILE_URL})` },
      ])
  })

  it('are reported with their key and position if they cannot be evaluated', async () => {
    const rules = [
      ['own-1', 'text.exists() and'],
      ['own-2', "text.matches('x')\n  or text.shout()"],
      ['own-3', "given.matches('x')"],
      ['own-4', `${' '.repeat(20_000)}text.matches('x')`],
    ].map(([key, expression]) => constraint(expression!, key)[0]!)
    const find = profileCheckerOf([profile([{ id: 'Patient.name', constraint: rules }])], EXPRESSIONS)
    const { issues } = await find(patient({ name: [{ text: 'SECRET', given: ['SECRET', 'SECRET'] }] }), [PROFILE_URL])
    expect(issues.map(({ severity, code, text }) => `${severity} ${code} ${text}`)).toEqual([
      expect.stringMatching(/^warning not-supported The rule own-1 could not be evaluated: it is no FHIRPath, .* \(line 1, column 18\) \(/),
      `warning not-supported The rule own-2 could not be evaluated: it is no FHIRPath, there is no function shout (line 2, column 11) (${PROFILE_URL})`,
      `warning not-supported The rule own-3 could not be evaluated: it fails on this element (${PROFILE_URL})`,
      `warning not-supported The rule own-4 could not be evaluated: it has more than 10000 characters (${PROFILE_URL})`,
    ])
    expect(JSON.stringify(issues)).not.toContain('SECRET')
  })

  it('list 100 findings and a note that there are more', async () => {
    const { issues } = await profileCheckerOf([profile(own)], recording(FALSE).expressions)(named(300), [PROFILE_URL])
    expect(issues).toHaveLength(101)
  })

  it('are reported if they are too many or too long', async () => {
    const { given, expressions } = recording(TRUE)
    const { issues } = await profileCheckerOf([profile(own)], expressions)(named(1_005), [PROFILE_URL])
    expect(given).toHaveLength(1_000)
    expect(issues.map(({ code, expression }) => `${code} ${expression}`)).toEqual(many(5, (i) => `too-costly Patient.name[${1_000 + i}]`))
    const long = profileCheckerOf(
      [profile([{ id: 'Patient', constraint: constraint(`${' '.repeat(20_000)}name.matches('a')`) }])],
      EXPRESSIONS,
    )
    expect((await long(named(1), [PROFILE_URL])).issues.map(({ code }) => code)).toEqual(['not-supported'])
  })

  it('share one budget within a request, but not across requests', async () => {
    const budgets: ExpressionBudget[] = []
    const expressions: ExpressionRunner = {
      evaluate: async (evaluations, budget) => {
        budgets.push(budget)
        return evaluations.map(() => ({ ...TRUE, ms: 800 }))
      },
    }
    const find = profileCheckerOf([profile(own)], expressions)
    const asked = (requestId: string, count: number, isEnforced: boolean) =>
      Promise.all(many(count, () => find(named(1), [PROFILE_URL], { requestId, isEnforced })))
    const findings = await asked('one', 8, true)
    expect(budgets.map(({ all, whose }) => [all, whose])).toEqual([
      ...many(5, () => [1_000, DEFAULT_TENANT]),
      [1_000, DEFAULT_TENANT],
      [200, DEFAULT_TENANT],
    ])
    expect(findings.map(({ issues }) => issues)).toEqual([
      ...many(7, () => []),
      [expect.objectContaining({ severity: 'error', code: 'too-costly' })],
    ])
    expect((await asked('one', 1, false))[0]!.issues).toEqual([
      { severity: 'warning', code: 'too-costly', expression: 'Patient.name[0]', text: expect.stringContaining('was not evaluated') },
    ])
    expect((await asked('other', 1, true))[0]!.issues).toEqual([])
  })

  it('ignore property names of JavaScript objects', async () => {
    const rules = ['repeat(constructor).empty()', 'name.__proto__.repeat($this).empty()', '%resource.toString.repeat($this).empty()']
    const find = profileCheckerOf(
      [profile([{ id: 'Patient', constraint: rules.flatMap((rule, i) => constraint(rule, `k${i}`)) }])],
      EXPRESSIONS,
    )
    expect((await find(named(1), [PROFILE_URL])).issues).toEqual([])
  })

  it('fail as overloaded instead of waiting if too many wait already', async () => {
    const busy: ExpressionRunner = { evaluate: () => Promise.reject(new MachineFault('overloaded', 'busy')) }
    await expect(profileCheckerOf([profile(own)], busy)(named(1), [PROFILE_URL])).rejects.toThrow(fault('overloaded'))
  })
})

/** HL7's validator does the same. */
describe('a rule without a result', () => {
  it.each(['birthDate <= @2000', 'gender', '{}', "name.given.first() = 'x'", "name.repeat(given) = 'x'"])(
    'is reported as broken: %s',
    async (expression) => {
      const find = profileCheckerOf([profile([{ id: 'Patient', constraint: constraint(expression) }])], EXPRESSIONS)
      const { issues } = await find(patient({}), [PROFILE_URL])
      expect(issues.map(({ severity, code }) => [severity, code])).toEqual([['error', 'invariant']])
    },
  )
})
