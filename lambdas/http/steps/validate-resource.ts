/** A resource that is written has the structure R4 gives its type: 400 with every finding. https://hl7.org/fhir/R4/validation.html */
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { validate, validateInPieces } from '../../fhir/validate/validate.ts'
import { turn } from '../../interactions/slices.ts'
import type { Step } from '../exchange.ts'

/** Bytes of a body from which on others pass between parsing, the pieces of validation and what follows. */
const LARGE = 500_000

export const validateResource: Step = {
  before({ event: { fhir, http } }) {
    if (fhir.resource === undefined) return
    if (http.body.length >= LARGE) return checkInPieces(fhir.resource)
    return check(validate(fhir.resource))
  },
}

async function checkInPieces(resource: Resource): Promise<void> {
  const pieces = validateInPieces(resource)
  let piece: IteratorResult<undefined, readonly Issue[]>
  do {
    await turn()
    piece = pieces.next()
  } while (!piece.done)
  check(piece.value)
  await turn()
}

function check(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new FhirError(400, issues)
}
