/** Facts about a plan that its readers derive: the fields of a predicate. */
import { describe, expect, it } from '@jest/globals'
import { ALWAYS_FALSE, and, fieldsOf, not, or, type Predicate } from '../../../lambdas/ports/search/plan.ts'

const key = (field: string): Predicate => ({ kind: 'key', field, oneOf: ['"field":"other'] })

describe('the fields of a predicate', () => {
  it('are those of every nested condition, in order and with duplicates', () => {
    const span: Predicate = { kind: 'span', relation: 'within', low: 0, high: 1, field: 'c' }
    expect(fieldsOf(and(key('b'), not(or(span, key('a'))), and(key('b'))))).toEqual(['b', 'c', 'a', 'b'])
  })

  it('are one field of a tuple, whatever it tests', () => {
    const ranges = [{ kind: 'number', relation: 'within', low: 0, high: 1 }] as const
    expect(fieldsOf({ kind: 'tuple', field: 'both', key: 'k', labels: [], ranges })).toEqual(['both'])
  })

  it('are absent from compartments and constants', () => {
    expect(fieldsOf(and({ kind: 'compartment', oneOf: ['Patient/p'] }, ALWAYS_FALSE))).toEqual([])
  })
})
