/** What profiles say of a resource that is to be stored, where the server is to ask them. https://hl7.org/fhir/R4/validation.html */
import { FhirError, type Issue } from '../fhir/outcome.ts'
import type { Resource } from '../fhir/resource.ts'
import type { Choices, Ports } from './interaction.ts'
import type { FindInProfiles, ProfileParts } from './profile-findings.ts'

const NOTHING: readonly Issue[] = []

/** `off` loads nothing. */
export function profilesOnWrite(policy: Choices['validateProfiles'], parts: () => ProfileParts): Ports['profiled'] {
  if (policy === 'off') return () => NOTHING
  const isEnforced = policy === 'enforce'
  let finding: Promise<FindInProfiles> | undefined
  return async (resource) => {
    finding ??= import('./profile-findings.ts').then(({ findInProfiles }) => findInProfiles(parts()))
    const findIn = await finding
    const { issues, missing } = await findIn(resource, namedBy(resource), { isEnforced })
    if (isEnforced && issues.some(({ severity }) => severity === 'error')) throw new FhirError(422, issues)
    return [...issues.map(asWarning), ...missing.map((canonical) => notLoaded(canonical, resource))]
  }
}

/** It was stored. */
const asWarning = (issue: Issue): Issue => (issue.severity === 'error' ? { ...issue, severity: 'warning' } : issue)

const MOST_NAMED = 100
const SHOWN = 300

const namedBy = ({ meta }: Resource): readonly string[] =>
  (meta?.profile ?? []).filter((canonical) => typeof canonical === 'string').slice(0, MOST_NAMED)

const notLoaded = (canonical: string, { resourceType }: Resource): Issue => ({
  severity: 'warning',
  code: 'not-found',
  expression: `${resourceType}.meta.profile`,
  text: `The profile ${canonical.slice(0, SHOWN)} is not loaded: the resource was not checked against it`,
})
