/** Each type that belongs to patients has the clinical date this table names, or none that is searched by. */
import { describe, expect, it } from '@jest/globals'
import { patientDataTypes } from '../../lambdas/fhir/compartment.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { CLINICAL_DATES, clinicalDatePredicate } from '../../lambdas/search/clinical-dates.ts'
import { matchesPredicate } from '../../lambdas/search/evaluate.ts'
import { parametersOf } from '../../lambdas/search/parameters.ts'

const datesOf = (type: string): readonly string[] =>
  parametersOf(type).flatMap(({ type, code }) => (type === 'date' && !code.startsWith('_') ? [code] : []))

/** When somebody was born, and when something was recorded, is no date of care. */
const NOT_OF_CARE = ['Patient', 'Person', 'RelatedPerson', 'Provenance', 'AuditEvent']

describe('the clinical dates', () => {
  it('are search parameters of the type', () => {
    for (const [type, code] of Object.entries(CLINICAL_DATES))
      expect([type, patientDataTypes.includes(type), datesOf(type)]).toEqual([type, true, expect.arrayContaining([code])])
  })

  it('exist for every type with a date of care', () =>
    expect(patientDataTypes.filter((type) => datesOf(type).length > 0 && CLINICAL_DATES[type] === undefined).sort()).toEqual(
      [...NOT_OF_CARE].sort(),
    ))
})

describe('a window', () => {
  const isDuring = (
    span: readonly [number, number] | undefined,
    window: { readonly low?: number; readonly high?: number },
    type = 'Encounter',
  ) =>
    matchesPredicate(clinicalDatePredicate(type, window), { spans: span === undefined ? {} : { date: [span] } } as unknown as IndexDocument)
  const { POSITIVE_INFINITY: FOREVER, NEGATIVE_INFINITY: EVER } = Number

  it.each([
    [[10, 20], { low: 20 }, false],
    [[10, 20], { low: 19 }, true],
    [[10, 20], { high: 10 }, false],
    [[10, 20], { high: 11 }, true],
    [[10, 20], { low: 12, high: 13 }, true],
    [[10, 20], { low: 20, high: 30 }, false],
    [[10, 20], { low: 0, high: 10 }, false],
    [[10, FOREVER], { low: 1_000 }, true],
    [[10, FOREVER], { high: 10 }, false],
    [[EVER, 20], { high: -5 }, true],
    [[EVER, 20], { low: 20 }, false],
    [[10, 20], {}, true],
    [undefined, { low: 10, high: 20 }, true],
  ] as const)('compares %j with %j: %s', (span, window, expected) => expect(isDuring(span, window)).toBe(expected))

  it('includes every resource of a type without a clinical date', () => expect(isDuring([10, 20], { low: 1_000 }, 'Device')).toBe(true))
})
