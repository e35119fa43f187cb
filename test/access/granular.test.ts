/** What a condition of a scope grants: nothing, unless each resource can be asked whether it holds. */
import { expect, it } from '@jest/globals'
import { isDecidable } from '../../lambdas/access/scope-conditions.ts'
import { customMappingsOf } from '../../lambdas/search/custom/custom-parameters.ts'

const own = {
  ...{ resourceType: 'SearchParameter', status: 'active', code: 'noted', type: 'string', base: ['Observation'] },
  expression: 'Observation.note.text',
} as const
const custom = customMappingsOf(own, 'north')

it.each([
  ['category=laboratory', true],
  ['category:not=laboratory', true],
  ['noted=x', true],
  ['noted:missing=true', false],
  ['unknown=x', false],
  ['patient.name=x', false],
  // No condition at all: not one that always holds.
  ['_format=json', false],
  ['_count=1', false],
  ['', false],
])('the condition %p is decidable: %p', (query, isOne) => {
  expect(isDecidable('Observation', query, { custom })).toBe(isOne)
})
