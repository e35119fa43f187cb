/**
 * Checks resources against their declared profiles before they are stored, according to the setting `validateProfiles`.
 * https://hl7.org/fhir/R4/validation.html
 */
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isDefinitionType } from '../../ports/definitions/canonicals.ts'
import type { Awaitable, Choices, Ports } from '../interaction.ts'
import type { ProfileParts } from './profile-findings.ts'

const NOTHING: readonly Issue[] = []

/**
 * Returns the validator of writes. `off`: checks no profiles, and calls `parts` only for definitions. `warn`: returns errors as warnings.
 * `enforce`: throws FhirError 422 if there is an error.
 */
export function writeValidator(policy: Choices['validateProfiles'], parts: () => ProfileParts): Ports['profiled'] {
  const told = (resource: Resource): Awaitable<readonly Issue[]> =>
    isDefinitionType(resource.resourceType) ? parts().toldOfDefinition(resource) : NOTHING
  if (policy === 'off') return told
  const isEnforced = policy === 'enforce'
  let finding: ReturnType<typeof load> | undefined
  return async (resource, { tenant, requestId }) => {
    finding ??= load(parts())
    const { findIn, declarationIssuesOf: misnamed, declaredProfilesOf: namedBy, uncheckedIssuesOf: notChecked } = await finding
    const named = namedBy(resource)
    const found = await findIn(
      resource,
      named.map(({ canonical }) => canonical),
      { tenant, requestId, isEnforced },
    )
    const issues = [
      ...found.issues,
      ...misnamed(resource, named, isEnforced ? 'error' : 'warning'),
      ...named.flatMap((each) => notChecked(each, found, isEnforced)),
      ...(await told(resource)),
    ]
    if (isEnforced && issues.some(({ severity }) => severity === 'error')) throw new FhirError(422, issues)
    return issues.map(asWarning)
  }
}

async function load(parts: ProfileParts) {
  const { profileChecker: findInProfiles, ...others } = await import('./profile-findings.ts')
  return { ...others, findIn: findInProfiles(parts) }
}

/** Lowers an error to a warning, because the resource is stored all the same. */
const asWarning = (issue: Issue): Issue => (issue.severity === 'error' ? { ...issue, severity: 'warning' } : issue)
