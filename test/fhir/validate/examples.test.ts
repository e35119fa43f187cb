/** The official examples and definitions of R4 through the validator: which are refused, and why. */
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../../lambdas/fhir/json.ts'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { isWhole } from '../../fixtures/long-runs.ts'
import { validatedInPieces } from '../../fixtures/validation/in-pieces.ts'
import { OFFICIAL, REFUSED, textOf } from '../../fixtures/validation/official.ts'

/** Definitions are many and alike: a twentieth of them, all other examples, and everything in whole loops. */
function isChosen(name: string, index: number): boolean {
  return isWhole || name in REFUSED || !/^(SearchParameter|ValueSet|CodeSystem|StructureDefinition|Bundle)-/.test(name) || index % 20 === 0
}

describe('the official examples', () => {
  it('are valid, but for the faults listed here', () => {
    const refused = OFFICIAL.filter(isChosen).flatMap((name) => {
      const resource = parseJson(textOf(name))
      const found = validate(resource)
      expect(validatedInPieces(resource)).toEqual(found)
      const [first] = found
      return first === undefined ? [] : [[name, [first.code, first.expression?.replace(/^\w+\.?/, ''), first.text]] as const]
    })
    expect(Object.fromEntries(refused)).toEqual(REFUSED)
  })

  it('are 5,306', () => {
    expect(OFFICIAL).toHaveLength(5306)
  })
})
