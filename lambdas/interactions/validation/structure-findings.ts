/** Validates the structure of a resource. Large resources are checked in pieces, so that other requests can run between them. */
import type { Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isLargeTree } from '../../fhir/validate/incremental-walk.ts'
import { validate, validateInPieces } from '../../fhir/validate/validate.ts'
import type { Awaitable } from '../interaction.ts'
import { yieldIfDue, yieldNow } from '../time-slices.ts'

export const structureIssuesOf = (resource: Resource): Awaitable<readonly Issue[]> =>
  isLargeTree(resource) ? inPieces(resource) : validate(resource)

async function inPieces(resource: Resource): Promise<readonly Issue[]> {
  await yieldNow()
  const pieces = validateInPieces(resource)
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    const pause = piece.done === true || piece.value === 'rule' ? yieldNow() : yieldIfDue()
    if (pause !== undefined) await pause
    if (piece.done === true) return piece.value
  }
}
