/**
 * Validates a resource against R4, the profiles that it declares and the profiles of the request. Also returns the warnings of a write.
 * https://hl7.org/fhir/R4/validation.html
 */
import { FhirError, fhirError, type Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isDefinitionType } from '../../ports/definitions/canonicals.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { definitionWarningsOf, longStringWarningsOf } from '../writing/write-warnings.ts'
import {
  type DeclaredProfile,
  damageIssuesOf,
  declarationIssuesOf,
  declaredProfilesOf,
  type ProfileChecker,
  type ProfileParts,
  profileChecker,
  profileStateOf,
  r4TypeOfCanonical,
  uncheckedIssuesOf,
} from './profile-findings.ts'
import { structureIssuesOf } from './structure-findings.ts'

/**
 * `profiles`: canonicals to check in addition to the declared ones. `only`: declared profiles are ignored. `requestId`: validations of one
 * request share a budget for deferred rules.
 */
export type ValidationRequest = {
  readonly tenant: string
  readonly profiles: readonly string[]
  readonly only?: true
  readonly reading: SearchContext
  readonly requestId?: string
}

/**
 * Returns the issues. Throws FhirError 422 if one of `profiles` is not loaded or cannot be used. For a declared profile that is a warning.
 */
export type FullValidator = (resource: Resource, asked: ValidationRequest) => Promise<readonly Issue[]>

export function fullValidator(parts: ProfileParts): FullValidator {
  const findIn = profileChecker(parts)
  return async (resource, { tenant, profiles, only, reading, requestId }) => {
    for (const canonical of profiles) await mustBeLoaded(tenant, canonical, parts)
    const found = await structureIssuesOf(resource)
    const named = only ? [] : declaredProfilesOf(resource)
    const canonicals = [...new Set([...profiles, ...named.map(({ canonical }) => canonical)])]
    const asked = [...profiles.map((canonical) => ({ canonical, location: resource.resourceType })), ...named]
    return [
      ...found,
      ...declarationIssuesOf(resource, asked, 'warning'),
      ...(isShapeless(found)
        ? asked.flatMap(unchecked)
        : await inProfiles(
            (...args) => findIn(...args, { tenant, ...(requestId === undefined ? {} : { requestId }) }),
            resource,
            canonicals,
            named,
          )),
      // Search for these warnings only in a valid resource: an invalid one may have strings in place of any element.
      ...(found.length > 0 ? [] : longStringWarningsOf(resource, reading)),
      ...(found.length > 0 ? [] : definitionWarningsOf(resource)),
      ...(found.length === 0 && isDefinitionType(resource.resourceType) ? await parts.toldOfDefinition(resource) : []),
    ]
  }
}

async function mustBeLoaded(tenant: string, canonical: string, { conformance }: ProfileParts): Promise<void> {
  if (r4TypeOfCanonical(canonical) !== undefined) return
  const definitions = await conformance(tenant)
  const loaded = await profileStateOf(canonical, definitions)
  if (loaded.kind === 'unusable') throw cannotBeUsed(canonical, loaded.reason)
  if (loaded.kind === 'loaded') return
  const missing = fhirError(422, 'not-found', `The profile ${canonical.slice(0, SHOWN)} is not loaded`)
  throw new FhirError(422, [...missing.issues, ...damageIssuesOf(definitions)])
}

const cannotBeUsed = (canonical: string, reason: string): FhirError =>
  fhirError(422, 'processing', `The profile ${canonical.slice(0, SHOWN)} cannot be used: ${reason}`)

/** Whether the structure is invalid. Any value may then take the place of an object, so profiles are not checked. */
const isShapeless = (found: readonly Issue[]): boolean => found.some(({ code }) => code === 'structure')

/** Returns an issue that the profile was not checked. Returns none for the canonical of an R4 type, because R4 is always checked. */
function unchecked({ canonical, location }: DeclaredProfile): readonly Issue[] {
  if (r4TypeOfCanonical(canonical) !== undefined) return []
  const text = `The resource was not checked against the profile ${canonical.slice(0, SHOWN)}: it has not the structure that R4 gives it`
  return [{ severity: 'information', code: 'incomplete', expression: location, text }]
}

async function inProfiles(
  findIn: (resource: Resource, canonicals: readonly string[]) => ReturnType<ProfileChecker>,
  resource: Resource,
  canonicals: readonly string[],
  named: readonly DeclaredProfile[],
): Promise<readonly Issue[]> {
  const found = await findIn(resource, canonicals)
  const { issues, missing, unusable } = found
  const nominated = unusable.find(({ profile }) => !named.some(({ canonical }) => canonical === profile))
  if (nominated !== undefined) throw cannotBeUsed(nominated.profile, nominated.reason)
  // A requested profile may have been deleted since `mustBeLoaded` found it.
  const lost = canonicals.find((each) => missing.includes(each) && !named.some(({ canonical }) => canonical === each))
  if (lost !== undefined) throw fhirError(422, 'not-found', `The profile ${lost.slice(0, SHOWN)} is not loaded`)
  return [...issues, ...named.flatMap((each) => uncheckedIssuesOf(each, found))]
}

/** Maximum characters of a canonical in a message. A longer one is cut. */
const SHOWN = 300
