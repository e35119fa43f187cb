/** The profiles a resource names, and those it cannot be as. https://hl7.org/fhir/R4/resource.html#Meta.profile */
import { withArticle } from '../../article.ts'
import type { Issue } from '../../outcome.ts'
import { type Element, isElement } from '../../resource.ts'
import { splitCanonical } from '../canonical.ts'
import { clipText } from '../clipped-text.ts'
import { r4TypeOfUrl } from '../definitions/supported-definitions.ts'

export type DeclaredProfile = { readonly canonical: string; readonly place: string }

/** Up to a hundred, each where it is named. `at`: the resource's place. */
export function declaredProfilesOf({ resourceType, meta }: Element, at = String(resourceType)): readonly DeclaredProfile[] {
  return profilesIn(meta)
    .slice(0, MOST_NAMED)
    .flatMap((canonical, i) => (typeof canonical === 'string' ? [{ canonical, place: `${at}.meta.profile[${i}]` }] : []))
}

const profilesIn = (meta: unknown): readonly unknown[] => (isElement(meta) && Array.isArray(meta.profile) ? meta.profile : [])

const MOST_NAMED = 100

/** That a resource names another type than its own, or more profiles than are looked at: `severity` of the latter. */
export function declarationIssuesOf(
  { resourceType, meta }: Element,
  named: readonly DeclaredProfile[],
  severity: Issue['severity'],
  at = String(resourceType),
): readonly Issue[] {
  const count = profilesIn(meta).length
  const expression = `${at}.meta.profile[${MOST_NAMED}]`
  const text = `The resource names ${count} profiles: it was checked against the first ${MOST_NAMED} only`
  return [
    ...named.flatMap(({ canonical, place }) => ofAnotherType(canonical, String(resourceType), place)),
    ...(count > MOST_NAMED ? [{ severity, code: 'too-costly', expression, text } as const] : []),
  ]
}

/** What is to be told of a profile that a resource names and that is not loaded, or cannot be used for a reason. */
export function uncheckedProfileIssue(
  { canonical, place }: DeclaredProfile,
  reason: string | undefined,
  severity: Issue['severity'],
): Issue {
  const why = reason === undefined ? 'is not loaded' : `cannot be used: ${reason}`
  const text = `The profile ${clipText(canonical)} ${why}: the resource was not checked against it`
  return { severity, code: reason === undefined ? 'not-found' : 'processing', expression: place, text }
}

function ofAnotherType(canonical: string, type: string, expression: string): readonly Issue[] {
  const named = r4TypeOfCanonical(canonical)
  if (named === undefined || named === type || isAbove(named, type)) return []
  return [
    {
      severity: 'error',
      code: 'structure',
      expression,
      text: `The profile ${canonical} is about ${named}, and this is ${withArticle(type)}`,
    },
  ]
}

/** The type that R4 itself defines under this canonical: what it says is checked on every resource. */
export function r4TypeOfCanonical(canonical: string): string | undefined {
  const { url, version } = splitCanonical(canonical)
  return version === undefined || version === '4.0.1' ? r4TypeOfUrl(url) : undefined
}

/** https://hl7.org/fhir/R4/resourcelist.html: those that have no narrative. */
const PLAIN: ReadonlySet<string> = new Set(['Binary', 'Bundle', 'Parameters'])

const isAbove = (above: string, type: string): boolean => above === 'Resource' || (above === 'DomainResource' && !PLAIN.has(type))
