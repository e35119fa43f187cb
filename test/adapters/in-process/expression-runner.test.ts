/** Client expressions run in a process that can be ended: a costly one affects only itself. http://hl7.org/fhirpath/N1/ */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { ForkedExpressionRunner } from '../../../lambdas/adapters/in-process/expression-runner.ts'
import { parseJson } from '../../../lambdas/fhir/json.ts'
import { createInterpreter, loadInterpreter } from '../../../lambdas/fhir/path/interpreter.ts'
import type {
  ConformanceAnswer,
  ConformanceQuestion,
  EvaluationResult,
  ExpressionBudget,
  FoundValue,
} from '../../../lambdas/ports/execution/expression-runner.ts'
import { EXPRESSION_PROGRAM } from '../../../lambdas/runtime/expressions/expression-program.ts'
import { evaluateAhead } from '../../../lambdas/search/custom/batch-evaluation.ts'
import { findExpressionProblem } from '../../../lambdas/search/custom/usable-expression.ts'
import { parametersOf } from '../../../lambdas/search/parameters.ts'
import { PACKAGE_FOLDER } from '../../../search-mappings/generate/hl7.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { isFullRun } from '../../fixtures/long-runs.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { isAlive } from '../../fixtures/running-process.ts'

const runner = new ForkedExpressionRunner({ program: EXPRESSION_PROGRAM, memory: 128 })
afterAll(() => runner.close())

const PLENTY: ExpressionBudget = { each: 250, all: 60_000, overruns: 60 }
const resource = JSON.stringify({ resourceType: 'Patient', id: 'p', name: [{ family: `${'a'.repeat(60)}b`, given: ['Peter'] }] })
const evaluated = (...expressions: readonly string[]): Promise<readonly EvaluationResult[]> =>
  runner.evaluate(
    expressions.map((expression) => ({ expression, type: 'Patient', resource })),
    PLENTY,
  )
const shown = (outcome: EvaluationResult): unknown => ('values' in outcome ? outcome.values : outcome.failure)
const computed = (found: FoundValue | undefined): unknown => (found !== undefined && 'value' in found ? found.value : found)

/** Expressions that no item count and no clock stops: one operation of fhirpath.js on very long texts. */
const POISONS: readonly (readonly [string, string])[] = [
  ['a text that is doubled and split', `Patient.id${'.select($this & $this)'.repeat(26)}.toChars().count()`],
  ['a text that is replaced by more', `'a'${".replace('a', 'aaaaaaaaaa')".repeat(9)}.upper().length()`],
  ['a list that is doubled', `Patient.name${'.select($this.combine($this))'.repeat(30)}`],
  ['what is never at its end', '(1).repeat($this + 1)'],
  ['a pattern that is tried in too many ways', "Patient.name.repeat(family).matches('^(a+)+$')"],
]

describe('an expression', () => {
  it('returns typed values, and elements by their path', async () => {
    const [outcome] = await evaluated("Patient.repeat(name) | Patient.name.given.join('') | 5.5 'mg'")
    expect(shown(outcome!)).toEqual([
      { type: 'HumanName', from: 'resource', at: ['name', 0] },
      { type: 'string', value: 'Peter' },
      { type: 'Quantity', value: { value: 5.5, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' } },
    ])
  })

  it('starts from any element of the resource', async () => {
    const focus = JSON.stringify({ given: ['Ann'] })
    const [outcome] = await runner.evaluate([{ expression: "given.join('') & %resource.id", type: 'HumanName', resource, focus }], PLENTY)
    expect(shown(outcome!)).toEqual([{ type: 'string', value: 'Annp' }])
  })

  it.each([
    ['Patient.name.repeat(', 'line: 1; column: 20'],
    ['Patient..name', 'no FHIRPath'],
    ['name.unheardOf()', 'unheardOf'],
    ['%unheardOf', 'unheardOf'],
    ['Patient.name.where(now() > @2020)', 'now( is nothing an index can keep'],
  ])('is refused with a reason: %s', async (expression, reason) => {
    expect(await findExpressionProblem(runner, expression, 'Patient')).toEqual({ text: expect.stringContaining(reason) })
  })

  it('is refused if it takes too long even without elements', async () => {
    expect(await findExpressionProblem(runner, `'${'a'.repeat(40)}b'.matches('^(a+)+$')`, 'Patient')).toBe('too-costly')
  })
})

describe('conformsTo()', () => {
  const bundle = JSON.stringify({ resourceType: 'Bundle', entry: ['a', 'b'].map((id) => ({ resource: { resourceType: 'Patient', id } })) })
  const asked = async (expression: string, ...conformance: readonly ConformanceAnswer[]): Promise<EvaluationResult> =>
    (await runner.evaluate([{ expression, type: 'Bundle', resource: bundle, isShown: true, conformance }], PLENTY))[0]!
  const at = (i: number): ConformanceQuestion => ({ at: ['entry', i, 'resource'], canonical: 'http://x' })

  it('asks about all resources at once and uses the answers', async () => {
    const expression = "entry.resource.where(conformsTo('http://x')).single().id"
    expect(await asked(expression)).toMatchObject({ failure: 'unanswered', questions: [at(0), at(1)] })
    expect(await asked(expression, { ...at(0), conforms: false })).toMatchObject({ failure: 'unanswered', questions: [at(1)] })
    const answered = await asked(expression, { ...at(0), conforms: false }, { ...at(1), conforms: true })
    expect(shown(answered)).toEqual([{ type: 'string', from: 'resource', at: ['entry', 1, 'resource', 'id'] }])
  })
  it('fails if no answers are given', async () => {
    const [outcome] = await runner.evaluate([{ expression: "conformsTo('x')", type: 'Bundle', resource: bundle, isShown: true }], PLENTY)
    expect(outcome).toMatchObject({ failure: 'failed', reason: 'conformsTo() is not available in this place' })
  })
})

describe('an expression that costs too much', () => {
  it.each(isFullRun ? POISONS : POISONS.slice(0, 2))(
    'is reported as too costly, and expressions around it return values: %s',
    async (_, poison) => {
      const [before, costly, after] = await evaluated('Patient.id', poison, 'Patient.id')
      expect([before, costly, after].map((each) => shown(each!))).toEqual([
        [{ type: 'string', value: 'p' }],
        'too-costly',
        [{ type: 'string', value: 'p' }],
      ])
    },
  )

  it('is too costly under any time limit, because lists are limited', async () => {
    const [, doubled] = POISONS[2]!
    const [outcome] = await runner.evaluate([{ expression: doubled, type: 'Patient', resource }], { ...PLENTY, each: 20_000 })
    expect(shown(outcome!)).toBe('too-costly')
  })

  it('costs at most its share, however many there are', async () => {
    const pattern = "Patient.name.repeat(family).matches('^(a+)+$')"
    const evaluations = Array.from({ length: 50 }, (_, i) => ({ expression: `${pattern} or id = '${i}'`, type: 'Patient', resource }))
    const outcomes = await runner.evaluate(evaluations, { each: 250, all: 500, overruns: 60 })
    expect(outcomes.map(shown)).toEqual(evaluations.map(() => 'too-costly'))
    expect(outcomes.filter(({ ms }) => ms > 0).length).toBeLessThanOrEqual(3)
    expect(shown((await evaluated('Patient.id'))[0]!)).toEqual([{ type: 'string', value: 'p' }])
  })

  it('waits in a queue of limited length', async () => {
    const all = await Promise.allSettled(Array.from({ length: 80 }, () => evaluated('Patient.id')))
    const refused = all.filter((each) => each.status === 'rejected')
    expect(refused.length).toBe(16)
    for (const each of refused) expect(each.reason).toEqual(fault('overloaded'))
  })
})

it('A program that cannot be started fails its evaluations', async () => {
  const broken = new ForkedExpressionRunner({ program: join(import.meta.dirname, 'no-such-program.ts') })
  await expect(broken.evaluate([{ expression: 'id', type: 'Patient', resource }], PLENTY)).rejects.toThrow('does not start')
})

describe('The process of expressions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'expressions-'))
  let runners: ForkedExpressionRunner[] = []
  let count = 0
  afterEach(() => {
    for (const each of runners) each.close()
    runners = []
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** `processes`: ids of the started processes. */
  function stub(idle = 3_600_000) {
    const started = join(folder, `${++count}`)
    const program = join(import.meta.dirname, '../../fixtures', 'expression-stub.mjs')
    const runner = new ForkedExpressionRunner({ program, idle, environment: { STARTED: started } })
    runners.push(runner)
    const evaluated = async (names: readonly string[], budget = PLENTY) =>
      (
        await runner.evaluate(
          names.map((expression) => ({ expression, type: 'Patient', resource })),
          budget,
        )
      ).map(shown)
    return { runner, evaluated, processes: () => readFileSync(started, 'utf8').trim().split('\n').map(Number) }
  }

  const value = (text: string) => [{ type: 'string', value: text }]

  it('sees only the environment variables it is given', async () => {
    process.env.FHIR_TEST_SECRET = 'secret'
    const { evaluated } = stub()
    expect(await evaluated(['environment'])).toEqual([value('STARTED')])
    delete process.env.FHIR_TEST_SECRET
  })

  it('is ended when idle, and started with the next evaluation', async () => {
    const { evaluated, processes } = stub(10)
    for (const runs of [1, 2]) {
      expect(await evaluated(['diesAfterCostly'])).toEqual([value('alive')])
      expect(processes().length).toBe(runs)
      await eventually(() => !isAlive(processes().at(-1)!))
    }
  })

  it('is ended after a stopped evaluation if none is waiting, which frees its memory', async () => {
    const { evaluated, processes } = stub()
    expect(await evaluated(['costly'])).toEqual(['too-costly'])
    await eventually(() => !isAlive(processes()[0]!))
    expect(await evaluated(['diesAfterCostly'])).toEqual([value('alive')])
    expect(processes().length).toBe(2)
  })

  it('does not count time without a processor as slow', async () => {
    const { evaluated, processes } = stub()
    // Other platforms do not report the processor time of a process.
    const expected = process.platform === 'linux' ? value('waited') : 'too-costly'
    expect(await evaluated(['waits'], { each: 10, all: 10, overruns: 1 })).toEqual([expected])
    expect(processes().length).toBe(1)
  })

  it('takes turns between owners: many evaluations of one do not delay others', async () => {
    const { evaluated } = stub()
    const order: string[] = []
    const asking = (whose: string, count: number) =>
      evaluated(Array(count).fill('diesAfterCostly'), { ...PLENTY, whose }).then(() => order.push(whose))
    await Promise.all([asking('many', 200), asking('many', 1), ...['one', 'other'].map((whose) => asking(whose, 1))])
    expect(order).toEqual(['one', 'other', 'many', 'many'])
  })

  it('takes turns between callers of a tenant: many calls of one delay no other', async () => {
    const { evaluated } = stub()
    const order: string[] = []
    const asking = (caller: string, count: number, whose = 'tenant') =>
      evaluated(Array(count).fill('diesAfterCostly'), { ...PLENTY, whose, caller }).then(() => order.push(caller))
    const many = Array.from({ length: 8 }, () => asking('many', 200))
    await Promise.all([...many, asking('one', 1), asking('other', 1), asking('elsewhere', 1, 'neighbour')])
    expect(order).toEqual(['elsewhere', 'one', 'other', ...many.map(() => 'many')])
  })

  it('limits the queue of one owner, and still accepts others', async () => {
    const { evaluated } = stub()
    const all = Promise.allSettled(Array.from({ length: 70 }, () => evaluated(['diesAfterCostly'], { ...PLENTY, whose: 'one' })))
    expect(await evaluated(['diesAfterCostly'], { ...PLENTY, whose: 'other' })).toEqual([value('alive')])
    expect((await all).filter(({ status }) => status === 'rejected')).toHaveLength(6)
  })

  it('continues after stopped evaluations, however many', async () => {
    const { evaluated, processes } = stub()
    expect(await evaluated(Array(40).fill('costly'))).toEqual(Array(40).fill('too-costly'))
    expect(processes().length).toBe(1)
  })

  it('may end because of an earlier evaluation, so the next is retried', async () => {
    const { evaluated, processes } = stub()
    expect(await evaluated(['costly', 'diesAfterCostly'])).toEqual(['too-costly', value('alive')])
    expect(processes().length).toBe(2)
  })

  it('reports lost time when it ends, and blames no definition for it', async () => {
    const { runner, evaluated } = stub()
    for (const before of ['environment', 'costly']) {
      const asked = [before, 'diesAfterCostly'].map((expression) => ({ expression, type: 'Patient', resource }))
      const [, outcome] = await runner.evaluate(asked, PLENTY)
      expect([outcome!.ms, (outcome!.lost ?? 0) > PLENTY.each]).toEqual([1, before === 'costly'])
    }
    const [, unusable] = await Promise.all([evaluated(['costly']), findExpressionProblem(runner, 'diesAfterCostly', 'Patient')])
    expect(unusable).toBeUndefined()
  })

  it('charges its restart to the evaluation that ends it', async () => {
    const { evaluated, processes } = stub()
    expect(await evaluated(Array(40).fill('dies'), { each: 10, all: 50, overruns: 60 })).toEqual(Array(40).fill('too-costly'))
    expect(processes().length).toBe(1)
  })

  it('is restarted at most as often as the budget allows', async () => {
    const { evaluated, processes } = stub()
    expect(await evaluated(Array(40).fill('dies'), { ...PLENTY, overruns: 2 })).toEqual(Array(40).fill('too-costly'))
    expect(processes().length).toBe(2)
  })
})

describe('Official examples', () => {
  beforeAll(loadInterpreter)

  it.each([
    'Patient-example',
    'Observation-blood-pressure',
    'Encounter-f203',
    'MedicationRequest-medrx0301',
    'ValueSet-example-extensional',
  ])('give the same values for every search parameter as on this thread: %s', async (name) => {
    const text = readFileSync(join(PACKAGE_FOLDER, `${name}.json`), 'utf8')
    const tree = parseJson(text) as { resourceType: string }
    const expressions = parametersOf(tree.resourceType).map(({ expression }) => expression)
    const outcomes = await runner.evaluate(
      expressions.map((expression) => ({ expression, type: tree.resourceType, resource: text })),
      PLENTY,
    )
    const differing = expressions.filter((expression, i) => here(expression, tree) !== there(outcomes[i]!, JSON.parse(text)))
    expect(differing).toEqual([])
    expect(outcomes.filter((each) => 'values' in each && each.values.length > 0).length).toBeGreaterThan(5)
  })

  const here = (expression: string, tree: { resourceType: string }): string => {
    try {
      return JSON.stringify(createInterpreter(expression, tree.resourceType)(tree, tree).map(({ type, value }) => [type, plain(value)]))
    } catch {
      return 'failed'
    }
  }

  const there = (outcome: EvaluationResult, tree: object): string =>
    'failure' in outcome
      ? outcome.failure
      : JSON.stringify(outcome.values.map((each) => [each.type, 'at' in each ? at(tree, each.at) : computed(each)]))

  const at = (tree: unknown, way: readonly (string | number)[]): unknown =>
    way.reduce((each, step) => (each as Readonly<Record<string | number, unknown>>)[step], tree)

  /** Converts preserved decimals to numbers. */
  const plain = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value), (_, each) => (typeof each === 'string' && each[0] === '\u0000' ? Number(each.slice(1)) : each))
})

it('Values keep the decimals of the resource', async () => {
  const tree = parseJson('{"resourceType":"Patient","extension":[{"url":"d","valueQuantity":{"value":1.10}}]}') as { resourceType: string }
  const custom = [{ base: 'Patient', field: 'f', code: 'c', type: 'quantity', url: '', expression: 'Patient.repeat(extension).value', values: [], interpreted: true } as const] // biome-ignore format: one parameter
  await evaluateAhead([tree], { custom }, runner)
  const [found] = parametersOf('Patient', custom)
    .find(({ code }) => code === 'c')!
    .values(tree)
  expect(found!.value).toEqual({ value: '\u00001.10' })
})
