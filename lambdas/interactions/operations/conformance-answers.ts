/**
 * Answers conformsTo() for $apply-fhirpath, because the process that evaluates expressions has no profiles.
 * https://hl7.org/fhir/R4/fhirpath.html#functions
 */
import { writeJson } from '../../fhir/json.ts'
import { FhirError, fhirError, type Issue } from '../../fhir/outcome.ts'
import { selectElement } from '../../fhir/path/selected-elements.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ConformanceQuestion } from '../../ports/execution/expression-runner.ts'
import type { FullValidator, ValidationRequest } from '../validation/full-validation.ts'

export type ConformanceChecker = (question: ConformanceQuestion) => Promise<boolean>

/**
 * Maximum characters of the resources that conformsTo() checks in one request. A resource counts for each check. Beyond it the request is
 * answered 422.
 */
const MOST_CHARACTERS = 20_000_000

/**
 * Returns the checker of one request. It throws FhirError 422 for a profile that is not loaded or cannot be used, and for checks that cost
 * too much. `place`: FHIRPath of the expression in the Parameters, for errors.
 */
export function conformanceChecker(
  resource: Resource,
  validated: FullValidator,
  asked: Omit<ValidationRequest, 'profiles' | 'only'>,
  place: string,
): ConformanceChecker {
  let left = MOST_CHARACTERS
  return async ({ at, canonical }) => {
    const checked = selectElement(resource, at).value as Resource
    left -= writeJson(checked).length
    const issues =
      left < 0 ? [TOO_COSTLY] : await issuesOf(() => validated(checked, { ...asked, profiles: [canonical], only: true }), place)
    const stopped = issues.find(({ code }) => code === 'too-costly')
    if (stopped !== undefined) throw fhirError(422, 'too-costly', `conformsTo() was not completed: ${stopped.text}`, place)
    return !issues.some(({ severity }) => severity === 'error')
  }
}

const TOO_COSTLY: Issue = {
  severity: 'error',
  code: 'too-costly',
  text: `it checks at most ${MOST_CHARACTERS} characters of resources in a request`,
}

async function issuesOf(validate: () => Promise<readonly Issue[]>, place: string): Promise<readonly Issue[]> {
  try {
    return await validate()
  } catch (error) {
    if (!(error instanceof FhirError)) throw error
    const [issue] = error.issues
    throw fhirError(error.status, issue!.code, `conformsTo() failed: ${issue!.text}`, place)
  }
}
