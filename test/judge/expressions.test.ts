/** Where a finding says it is, FHIRPath finds something. https://hl7.org/fhir/R4/operationoutcome-definitions.html#OperationOutcome.issue.expression */
import { expect, it } from '@jest/globals'
import fhirpath from 'fhirpath'
import r4 from 'fhirpath/fhir-context/r4'
import type { Issue } from '../../lambdas/fhir/outcome.ts'
import { isResourceType } from '../../lambdas/fhir/resource-types.ts'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { checkProfiles } from '../fixtures/us-core/findings.ts'
import { read, readProfiled, resourceOf, SIDES } from './cases.ts'
import type { Tree } from './generate/definitions.ts'
import { US_CORE } from './generate/us-core.ts'
import { changedExample } from './us-core-cases.ts'

const selects = (resource: Tree, expression: string): boolean => {
  const found = fhirpath.evaluate(resource, expression, undefined, r4) as readonly unknown[]
  return found.length > 0
}

/** What stands there, or what it would stand in: null, an empty list and a text of no characters are nothing to FHIRPath. */
const isThere = (resource: Tree, { expression = '' }: Issue): boolean => {
  const parent = expression.replace(/(?:\[\d+\]|\.(?:\w+|`[^`]*`))$/, '')
  return selects(resource, expression) || selects(resource, parent)
}

/** `issue expression` of those whose place is not found; how many are found. */
function lost(resource: Tree, issues: readonly Issue[]): { readonly lost: readonly string[]; readonly count: number } {
  const missing = issues.filter((issue) => issue.expression === undefined || !isThere(resource, issue))
  return { lost: missing.map(({ text, expression }) => `${expression} ${text}`), count: issues.length }
}

it('the expressions of issues of R4 select something', () => {
  const { seeds, cases } = read('base')
  const all = cases.map((each) => {
    const resource = resourceOf(seeds, each, 'break')
    // Of a type that does not exist nothing can be said but that.
    return isResourceType(resource.resourceType) ? lost(resource, validate(resource)) : { lost: [], count: 0 }
  })
  expect(all.flatMap((each) => each.lost)).toEqual([])
  expect(all.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(600)
})

it('the expressions of issues of US Core select something, warnings included', async () => {
  let count = 0
  for (const each of readProfiled('us-core'))
    for (const side of SIDES) {
      const resource = changedExample(each, side) as Parameters<typeof checkProfiles>[0]
      const { issues } = await checkProfiles(resource, [US_CORE + each.profile])
      const found = lost(resource, issues)
      expect(found.lost).toEqual([])
      count += found.count
    }
  expect(count).toBeGreaterThan(200)
})
