/** Profiles that a resource declares, and the issues about them. https://hl7.org/fhir/R4/resource.html#Meta.profile */
import { withArticle } from '../../article.ts'
import type { Issue } from '../../outcome.ts'
import { type Element, isElement } from '../../resource.ts'
import { splitCanonical } from '../canonical.ts'
import { clipText } from '../clipped-text.ts'
import { r4TypeOfUrl } from '../definitions/supported-definitions.ts'

export type DeclaredProfile = { readonly canonical: string; readonly location: string }

/** Returns the first 100 declared profiles with their locations. `at`: location of the resource. */
export function declaredProfilesOf({ resourceType, meta }: Element, at = String(resourceType)): readonly DeclaredProfile[] {
  return profilesIn(meta)
    .slice(0, MAX_PROFILES)
    .flatMap((canonical, i) => (typeof canonical === 'string' ? [{ canonical, location: `${at}.meta.profile[${i}]` }] : []))
}

const profilesIn = (meta: unknown): readonly unknown[] => (isElement(meta) && Array.isArray(meta.profile) ? meta.profile : [])

const MAX_PROFILES = 100

/**
 * Returns the issues of the declarations: profiles for another type, and more profiles than are checked. `severity`: severity of the issue
 * about too many profiles.
 */
export function declarationIssuesOf(
  { resourceType, meta }: Element,
  profiles: readonly DeclaredProfile[],
  severity: Issue['severity'],
  at = String(resourceType),
): readonly Issue[] {
  const count = profilesIn(meta).length
  const expression = `${at}.meta.profile[${MAX_PROFILES}]`
  const text = `The resource names ${count} profiles: it was checked against the first ${MAX_PROFILES} only`
  return [
    ...profiles.flatMap(({ canonical, location }) => typeIssues(canonical, String(resourceType), location)),
    ...(count > MAX_PROFILES ? [{ severity, code: 'too-costly', expression, text } as const] : []),
  ]
}

/** Returns the issue about a declared profile that was not checked. `reason`: why it cannot be used. Without `reason`, it is not loaded. */
export function uncheckedProfileIssue(
  { canonical, location }: DeclaredProfile,
  reason: string | undefined,
  severity: Issue['severity'],
): Issue {
  const reasonText = reason === undefined ? 'is not loaded' : `cannot be used: ${reason}`
  const text = `The profile ${clipText(canonical)} ${reasonText}: the resource was not checked against it`
  return { severity, code: reason === undefined ? 'not-found' : 'processing', expression: location, text }
}

function typeIssues(canonical: string, type: string, expression: string): readonly Issue[] {
  const typeOfProfile = r4TypeOfCanonical(canonical)
  if (typeOfProfile === undefined || typeOfProfile === type || isAbove(typeOfProfile, type)) return []
  return [
    {
      severity: 'error',
      code: 'structure',
      expression,
      text: `The profile ${canonical} is about ${typeOfProfile}, and this is ${withArticle(type)}`,
    },
  ]
}

/**
 * Returns the type that R4 4.0.1 itself defines under a canonical URL, or undefined. Such a profile needs no check of its own: R4's rules
 * are checked on every resource.
 */
export function r4TypeOfCanonical(canonical: string): string | undefined {
  const { url, version } = splitCanonical(canonical)
  return version === undefined || version === '4.0.1' ? r4TypeOfUrl(url) : undefined
}

/** Resource types that are not a DomainResource. https://hl7.org/fhir/R4/resourcelist.html */
const PLAIN: ReadonlySet<string> = new Set(['Binary', 'Bundle', 'Parameters'])

const isAbove = (above: string, type: string): boolean => above === 'Resource' || (above === 'DomainResource' && !PLAIN.has(type))
