/** Expressions that may take long are watched, each by itself and all of a process together. */
import { describe, expect, it, jest } from '@jest/globals'
import { R4 } from '../../lambdas/fhir/definitions/r4.ts'
import { createCompiler } from '../../lambdas/fhir/path/compile.ts'
import type { Evaluation, ExpressionBudget } from '../../lambdas/ports/execution/expression-runner.ts'
import { type CustomEvaluation, customEvaluation } from '../../lambdas/search/custom-evaluation.ts'
import type { CustomMapping } from '../../lambdas/search/custom-mapping.ts'
import { EvaluationBudget, evaluationBudgetOf, SharedBudget } from '../../lambdas/search/evaluation-budget.ts'
import { InterpretedExpression } from '../../lambdas/search/interpreted-values.ts'
import { parametersOf } from '../../lambdas/search/parameters.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'

const LONGEST = 250
const BRANCHES = createCompiler(R4).branches("Patient.name.given.where(matches('N'))", 'Patient')
const parameterWith = (purse: EvaluationBudget): CustomEvaluation => customEvaluation('own', BRANCHES, purse)

type Reading = { readonly resource: { readonly resourceType: string } }
const placeOf = (reading: Reading) => ({ key: reading.resource, resource: reading.resource })

/** A Patient whose names take so many ms of processor time when they are first read to the end; `begun`: gets each that was looked at. */
function slowPatient(ms: number, begun = new Set<object>()): Reading {
  let isRead = false
  const resource = {
    resourceType: 'Patient',
    get name() {
      begun.add(resource)
      if (isRead) return [{ given: ['N'] }]
      for (const began = process.threadCpuUsage(); millisecondsSince(began) < ms; );
      isRead = true
      return [{ given: ['N'] }]
    },
  }
  return { resource }
}

function millisecondsSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(began)
  return (user + system) / 1000
}

function outcomeOf(parameter: CustomEvaluation, patient: Reading): string {
  const failures: unknown[] = []
  const values = parameter.values(placeOf(patient), (_, error) => failures.push((error as Error).name))
  return [...values.map(({ value }) => value), ...failures].join()
}

/** ms: less than half of what there is here, for half may be lost on a busy machine. */
const SLOW = 30
/** ms: more than there is where little is left, however patient one is with a busy machine. */
const SLOWER = 200
const ENDLESS = Number.POSITIVE_INFINITY

describe('A parameter with a slow expression', () => {
  it('is not evaluated again after four stopped evaluations', () => {
    const begun = new Set<object>()
    const parameter = parameterWith(new EvaluationBudget())
    const outcomes = Array.from({ length: 6 }, () => outcomeOf(parameter, slowPatient(ENDLESS, begun)))
    expect(outcomes).toEqual(Array(6).fill('TookTooLong'))
    expect(begun.size).toBe(4)
    expect(outcomeOf(parameterWith(new EvaluationBudget()), slowPatient(0))).toBe('N')
  })

  it('is abandoned after one stopped evaluation once the common budget is spent', async () => {
    const begun = new Set<object>()
    const purse = new EvaluationBudget(2 * LONGEST)
    const parameters = Array.from({ length: 10 }, () => parameterWith(purse))
    for (const parameter of parameters)
      await parameter.ahead?.(
        [1, 2, 3].map(() => placeOf(slowPatient(ENDLESS, begun))),
        EXPRESSIONS,
      )
    // All of the first, one of each other.
    expect(begun.size).toBe(3 + 9)
  })

  it('yields between stopped and between many evaluations', async () => {
    for (const patients of [Array.from({ length: 4 }, () => slowPatient(ENDLESS)), Array.from({ length: 640 }, () => slowPatient(0))]) {
      let [turns, isGoing] = [0, true]
      const turn = () => {
        turns++
        if (isGoing) setImmediate(turn)
      }
      setImmediate(turn)
      const parameter = parameterWith(new EvaluationBudget())
      await parameter.ahead?.(patients.map(placeOf), EXPRESSIONS)
      isGoing = false
      expect(turns).toBeGreaterThanOrEqual(3)
    }
  })

  it('is evaluated if it is fast, whatever others used', () => {
    const purse = new EvaluationBudget(LONGEST)
    expect(outcomeOf(parameterWith(purse), slowPatient(SLOW))).toBe('N')
    expect(outcomeOf(parameterWith(purse), slowPatient(SLOWER))).toBe('TookTooLong')
    expect(outcomeOf(parameterWith(purse), slowPatient(0))).toBe('N')
  })

  it('may take long again after thousands of fast evaluations', async () => {
    const purse = new EvaluationBudget(LONGEST)
    const parameter = parameterWith(purse)
    expect(outcomeOf(parameter, slowPatient(ENDLESS))).toBe('TookTooLong')
    const given = (text: string) => placeOf({ resource: { resourceType: 'Patient', name: [{ given: [text] }] } as Reading['resource'] })
    const another = parameterWith(purse)
    await another.ahead?.(
      Array.from({ length: 2_000 }, (_, n) => given(`${n}`)),
      EXPRESSIONS,
    )
    expect(outcomeOf(parameterWith(purse), slowPatient(SLOWER))).toBe('TookTooLong')
    // A collection of garbage makes one evaluation seem long, which costs what thousands of others brought back.
    let outcome = ''
    for (let round = 0; round < 10 && outcome !== 'N'; round++) {
      await another.ahead?.(
        Array.from({ length: 20_000 }, (_, n) => given(`${n}`)),
        EXPRESSIONS,
      )
      outcome = outcomeOf(parameter, slowPatient(SLOW))
    }
    expect(outcome).toBe('N')
  })
})

describe('A parameter of the separate process', () => {
  /**
   * Evaluates nothing: each takes what `ms` makes of what it may take, and is too costly where it is all. `begun`: what each might take.
   */
  function elsewhere(ms: (each: number) => number) {
    const begun: number[] = []
    const evaluate = async (evaluations: readonly Evaluation[], { each, all, overruns }: ExpressionBudget) => {
      let [left, tries] = [all, overruns]
      return evaluations.map(() => {
        if (left <= 0 || tries <= 0) return { ...TOO_COSTLY, ms: 0 }
        const took = ms(each)
        begun.push(each)
        left -= took
        if (took < each) return { ms: took, values: [{ type: 'string', value: 'N' }] }
        tries--
        return { ...TOO_COSTLY, ms: took }
      })
    }
    return { evaluate, begun }
  }

  const TOO_COSTLY = { failure: 'too-costly', name: 'TookTooLong', reason: '' } as const
  const patients = (count: number): readonly Reading[] => Array.from({ length: count }, () => ({ resource: { resourceType: 'Patient' } }))
  const parametersWith = (purse: EvaluationBudget, count: number): readonly CustomEvaluation[] =>
    Array.from({ length: count }, () => customEvaluation('own', new InterpretedExpression('x', 'Patient', purse), purse))

  async function outcomesOf(parameters: readonly CustomEvaluation[], runner: ReturnType<typeof elsewhere>, some = patients(1)) {
    const outcomes: string[] = []
    for (const parameter of parameters) {
      await parameter.ahead?.(some.map(placeOf), runner)
      outcomes.push(...some.map((each) => outcomeOf(parameter, each)))
    }
    return outcomes
  }

  it('is abandoned after several stopped evaluations, and reports so', async () => {
    const costly = elsewhere((each) => each)
    const [parameter] = parametersWith(new EvaluationBudget(), 1)
    for (const some of [patients(3), patients(20)])
      expect(await outcomesOf([parameter!], costly, some)).toEqual(some.map(() => 'TookTooLong'))
    expect(costly.begun).toEqual([250, 250, 250, 250])
  })

  it('is charged for time that was lost to preemption', async () => {
    let begun = 0
    const evaluate = async (evaluations: readonly Evaluation[]) =>
      evaluations.map(() => ({ ms: 1, lost: 2 * LONGEST, values: [{ type: 'string', value: `N${++begun}` }] }))
    const outcomes = await outcomesOf(parametersWith(new EvaluationBudget(3 * LONGEST, 0), 4), { evaluate, begun: [] })
    expect(outcomes).toEqual(['N1', 'N2', 'TookTooLong', 'TookTooLong'])
  })

  it('shares the budget with hundreds: each is stopped once, most after a moment', async () => {
    const costly = elsewhere((each) => each)
    expect(await outcomesOf(parametersWith(new EvaluationBudget(), 600), costly)).toEqual(Array(600).fill('TookTooLong'))
    expect(costly.begun.filter((each) => each === 250).length).toBe(20)
    expect(costly.begun.filter((each) => each === 10).length).toBe(500)
  })

  it('shares the budget with evaluations in this process', async () => {
    const purse = new EvaluationBudget(LONGEST)
    const here = [1, 2].map(() => parameterWith(purse))
    expect(here.map((parameter) => outcomeOf(parameter, slowPatient(ENDLESS)))).toEqual(['TookTooLong', 'TookTooLong'])
    const costly = elsewhere((each) => each)
    await outcomesOf(parametersWith(purse, 1), costly)
    expect(costly.begun).toEqual([10])
  })

  describe('among several tenants', () => {
    const costly = () => elsewhere((each) => each)
    const spent = (runner: ReturnType<typeof elsewhere>) => runner.begun.reduce((sum, ms) => sum + ms, 0)

    it('is not abandoned for the usage of others, within the common budget', async () => {
      const chest = new SharedBudget(20_000)
      const spentBy: number[] = []
      for (let tenant = 0; tenant < 8; tenant++) {
        const runner = costly()
        await outcomesOf(parametersWith(new EvaluationBudget(5_000, 5_000, chest), 600), runner)
        spentBy.push(spent(runner))
      }
      // Each what is left of the chest at the most, once it has taken as much.
      expect(spentBy.slice(0, 4).map((ms) => Math.floor(ms / 50) * 50)).toEqual([10_000, 5_000, 2_500, 1_250])
      expect(spentBy.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(20_000 + 8 * 10)
      const mine = parametersWith(new EvaluationBudget(5_000, 5_000, chest), 1)
      expect(await outcomesOf(mine, elsewhere(() => 1))).toEqual(['N']) // biome-ignore format: a call
    })

    it('has its own evaluation budget per tenant', async () => {
      const [one, other] = ['one', 'other'].map((tenant) => parametersWith(evaluationBudgetOf(`${tenant} of the test`), 600))
      await outcomesOf(one!, costly())
      const runner = costly()
      await outcomesOf(other!, runner)
      expect(runner.begun[0]).toBe(250)
      expect(evaluationBudgetOf('one of the test')).toBe(evaluationBudgetOf('one of the test'))
    })

    it('uses the evaluation budget of its tenant', async () => {
      const mapping: CustomMapping = { tenant: 'drawer', base: 'Patient', field: 'f', code: 'own', type: 'string', url: '', expression: 'x', values: [], interpreted: true } // biome-ignore format: one parameter
      const spy = jest.spyOn(evaluationBudgetOf('drawer'), 'settle')
      const parameter = parametersOf('Patient', [mapping]).find(({ code }) => code === 'own')
      await parameter?.ahead?.(patients(1).map(({ resource }) => resource), elsewhere(() => 1)) // biome-ignore format: a call
      expect(spy).toHaveBeenCalledTimes(1)
    })
  })

  it('is rarely started once hundreds have ended their process', async () => {
    const [deadly, purse] = [elsewhere(() => 800), new EvaluationBudget()]
    const parameters = parametersWith(purse, 300)
    expect(await outcomesOf(parameters, deadly)).toEqual(Array(300).fill('TookTooLong'))
    expect(deadly.begun.length).toBe(13)
    for (let i = 0; i < 120; i++) await outcomesOf(parameters, deadly)
    // One for some 30,000 that were not.
    expect(deadly.begun.length).toBe(14)
  })

  it('is limited in total over many slow resources', async () => {
    const slow = elsewhere((each) => Math.min(each, 200))
    const some = patients(128)
    const outcomes = await outcomesOf(parametersWith(new EvaluationBudget(), 1), slow, some)
    expect(slow.begun.filter((each) => each === 250).length).toBeLessThan(26)
    expect(slow.begun.filter((each) => each === 10)).toEqual([10])
    expect(new Set(outcomes)).toEqual(new Set(['N', 'TookTooLong']))
  })

  it('yields between stopped and between many evaluations', async () => {
    for (const patients of [Array.from({ length: 4 }, () => slowPatient(ENDLESS)), Array.from({ length: 640 }, () => slowPatient(0))]) {
      let [turns, isGoing] = [0, true]
      const turn = () => {
        turns++
        if (isGoing) setImmediate(turn)
      }
      setImmediate(turn)
      const parameter = parameterWith(new EvaluationBudget())
      await parameter.ahead?.(patients.map(placeOf), EXPRESSIONS)
      isGoing = false
      expect(turns).toBeGreaterThanOrEqual(3)
    }
  })

  it('is evaluated if it is fast, whatever others used', async () => {
    const purse = new EvaluationBudget()
    await outcomesOf(parametersWith(purse, 300), elsewhere((each) => each)) // biome-ignore format: a call
    expect(
      await outcomesOf(
        parametersWith(purse, 1),
        elsewhere(() => 1),
      ),
    ).toEqual(['N'])
  })

  it('keeps its evaluation state when another is defined', () => {
    const mapping: CustomMapping = { base: 'Patient', field: 'own', code: 'own', type: 'string', url: '', expression: 'x', values: [], interpreted: true } // biome-ignore format: one parameter
    const own = (custom: readonly CustomMapping[]) => parametersOf('Patient', custom).find(({ code }) => code === 'own')
    expect(own([mapping, { ...mapping, code: 'other' }])).toBe(own([mapping]))
  })
})
