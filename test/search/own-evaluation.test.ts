/** Expressions that may take long are watched, each by itself and all of a process together. */
import { describe, expect, it } from '@jest/globals'
import { R4 } from '../../lambdas/fhir/definitions/r4.ts'
import { compiler } from '../../lambdas/fhir/path/compile.ts'
import { type OwnEvaluation, ownEvaluation } from '../../lambdas/search/own-evaluation.ts'
import { Purse } from '../../lambdas/search/purse.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'

const LONGEST = 250
const BRANCHES = compiler(R4).branches("Patient.name.given.where(matches('N'))", 'Patient')
const parameterWith = (purse: Purse): OwnEvaluation => ownEvaluation('own', BRANCHES, purse)

type Reading = { readonly resource: { readonly resourceType: string } }
const placeOf = (reading: Reading) => ({ by: reading.resource, resource: reading.resource })

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

function outcomeOf(parameter: OwnEvaluation, patient: Reading): string {
  const failures: unknown[] = []
  const values = parameter.values(placeOf(patient), (_, error) => failures.push((error as Error).name))
  return [...values.map(({ value }) => value), ...failures].join()
}

/** ms: more than there is where little is left, however busy the machine is, and less than usual. */
const SLOW = 90
const ENDLESS = Number.POSITIVE_INFINITY

describe('A parameter whose expression may take long', () => {
  it('is not evaluated any more after four evaluations that were stopped', () => {
    const begun = new Set<object>()
    const parameter = parameterWith(new Purse())
    const outcomes = Array.from({ length: 6 }, () => outcomeOf(parameter, slowPatient(ENDLESS, begun)))
    expect(outcomes).toEqual(Array(6).fill('TookTooLong'))
    expect(begun.size).toBe(4)
    expect(outcomeOf(parameterWith(new Purse()), slowPatient(0))).toBe('N')
  })

  it('is given up after the first where all of the process have taken what they may take together', async () => {
    const begun = new Set<object>()
    const purse = new Purse(2 * LONGEST)
    const parameters = Array.from({ length: 10 }, () => parameterWith(purse))
    for (const parameter of parameters)
      await parameter.ahead?.(
        [1, 2, 3].map(() => placeOf(slowPatient(ENDLESS, begun))),
        EXPRESSIONS,
      )
    // Three of the first, one of each other.
    expect(begun.size).toBe(3 + 9)
  })

  it('has its values where it takes little, whatever others took', () => {
    const purse = new Purse(LONGEST)
    expect(outcomeOf(parameterWith(purse), slowPatient(SLOW))).toBe('N')
    expect(outcomeOf(parameterWith(purse), slowPatient(SLOW))).toBe('TookTooLong')
    expect(outcomeOf(parameterWith(purse), slowPatient(0))).toBe('N')
  })

  it('may take long again when thousands took little', async () => {
    const purse = new Purse(LONGEST)
    const parameter = parameterWith(purse)
    expect(outcomeOf(parameter, slowPatient(ENDLESS))).toBe('TookTooLong')
    const given = (text: string) => placeOf({ resource: { resourceType: 'Patient', name: [{ given: [text] }] } as Reading['resource'] })
    const another = parameterWith(purse)
    await another.ahead?.(
      Array.from({ length: 2_000 }, (_, n) => given(`${n}`)),
      EXPRESSIONS,
    )
    expect(outcomeOf(parameterWith(purse), slowPatient(SLOW))).toBe('TookTooLong')
    await another.ahead?.(
      Array.from({ length: 20_000 }, (_, n) => given(`${n}`)),
      EXPRESSIONS,
    )
    expect(outcomeOf(parameter, slowPatient(SLOW))).toBe('N')
  })
})
