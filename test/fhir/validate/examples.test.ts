/** The official examples and definitions of R4 in the validator: which are rejected, and why. */
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../../lambdas/fhir/json.ts'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { isFullRun } from '../../fixtures/long-runs.ts'
import { validatedInPieces } from '../../fixtures/validation/in-pieces.ts'
import { exampleTextOf, INVALID_EXAMPLES, OFFICIAL_EXAMPLES } from '../../fixtures/validation/official.ts'

/** A twentieth of the definitions, because they are many and alike, and all other examples. Full runs take all. */
function isChosen(name: string, index: number): boolean {
  return (
    isFullRun ||
    name in INVALID_EXAMPLES ||
    !/^(SearchParameter|ValueSet|CodeSystem|StructureDefinition|Bundle)-/.test(name) ||
    index % 20 === 0
  )
}

describe('the official examples', () => {
  it('are valid, except for the listed faults', () => {
    const refused = OFFICIAL_EXAMPLES.filter(isChosen).flatMap((name) => {
      const resource = parseJson(exampleTextOf(name))
      const found = validate(resource)
      expect(validatedInPieces(resource)).toEqual(found)
      const [first] = found
      return first === undefined ? [] : [[name, [first.code, first.expression?.replace(/^\w+\.?/, ''), first.text]] as const]
    })
    expect(Object.fromEntries(refused)).toEqual(INVALID_EXAMPLES)
  })

  it('are 5,306', () => {
    expect(OFFICIAL_EXAMPLES).toHaveLength(5306)
  })
})
