/** The profiles a resource names, and those it cannot be as. https://hl7.org/fhir/R4/resource.html#Meta.profile */
import type { Issue } from '../fhir/outcome.ts'
import { partsOf } from '../fhir/profile/library.ts'
import { typeNamed } from '../fhir/profile/usable.ts'
import type { Resource } from '../fhir/resource.ts'

export type Named = { readonly canonical: string; readonly place: string }

/** Up to a hundred, each where it is named. */
export function namedBy({ resourceType, meta }: Resource): readonly Named[] {
  const profile: readonly unknown[] = Array.isArray(meta?.profile) ? meta.profile.slice(0, MOST_NAMED) : []
  return profile.flatMap((canonical, i) =>
    typeof canonical === 'string' ? [{ canonical, place: `${resourceType}.meta.profile[${i}]` }] : [],
  )
}

const MOST_NAMED = 100

/** That a resource names another type than its own, or more profiles than are looked at: `severity` of the latter. */
export function misnamed(resource: Resource, named: readonly Named[], severity: Issue['severity']): readonly Issue[] {
  const { resourceType, meta } = resource
  const count = Array.isArray(meta?.profile) ? meta.profile.length : 0
  const expression = `${resourceType}.meta.profile[${MOST_NAMED}]`
  const text = `The resource names ${count} profiles: it was checked against the first ${MOST_NAMED} only`
  return [
    ...named.flatMap(({ canonical, place }) => ofAnotherType(canonical, resourceType, place)),
    ...(count > MOST_NAMED ? [{ severity, code: 'too-costly', expression, text } as const] : []),
  ]
}

function ofAnotherType(canonical: string, type: string, expression: string): readonly Issue[] {
  const named = typeOfR4(canonical)
  if (named === undefined || named === type || isAbove(named, type)) return []
  return [{ severity: 'error', code: 'structure', expression, text: `The profile ${canonical} is about ${named}, and this is a ${type}` }]
}

/** The type that R4 itself defines under this canonical: what it says is checked on every resource. */
export function typeOfR4(canonical: string): string | undefined {
  const { url, version } = partsOf(canonical)
  return version === undefined || version === '4.0.1' ? typeNamed(url) : undefined
}

/** https://hl7.org/fhir/R4/resourcelist.html: those that have no narrative. */
const PLAIN: ReadonlySet<string> = new Set(['Binary', 'Bundle', 'Parameters'])

const isAbove = (above: string, type: string): boolean => above === 'Resource' || (above === 'DomainResource' && !PLAIN.has(type))
