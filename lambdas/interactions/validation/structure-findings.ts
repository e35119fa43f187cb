/** What is wrong with the structure of a resource. What is large is looked at in pieces, between which others pass. */
import type { Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isLarge } from '../../fhir/validate/incremental-walk.ts'
import { validate, validateInPieces } from '../../fhir/validate/validate.ts'
import type { Awaitable } from '../interaction.ts'
import { othersPass, turn } from '../time-slices.ts'

export const findingsOf = (resource: Resource): Awaitable<readonly Issue[]> => (isLarge(resource) ? inPieces(resource) : validate(resource))

async function inPieces(resource: Resource): Promise<readonly Issue[]> {
  await turn()
  const pieces = validateInPieces(resource)
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    const pause = piece.done === true || piece.value === 'rule' ? turn() : othersPass()
    if (pause !== undefined) await pause
    if (piece.done === true) return piece.value
  }
}
