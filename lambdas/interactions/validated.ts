/**
 * All that is found about a resource: what R4 says of it, what the profiles say that it names or is to be checked against, and what is told
 * where it is stored. https://hl7.org/fhir/R4/validation.html
 */
import { fhirError, type Issue } from '../fhir/outcome.ts'
import type { Resource } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { Reading } from '../search/reading.ts'
import { findingsOf } from './findings-of.ts'
import { definitionWarnings, longStringWarnings } from './warnings-of.ts'

/** `profiles`: canonicals it is to be checked against, besides those it names. */
export type Validating = { readonly tenant: string; readonly profiles: readonly string[]; readonly reading: Reading }

/** FhirError 422 for a profile in `profiles` that is not loaded. One that the resource names is a warning then. */
export type Validate = (resource: Resource, asked: Validating) => Promise<readonly Issue[]>

export const validated =
  (): Validate =>
  async (resource, { profiles, reading }) => {
    const unknown = profiles.find((canonical) => baseTypeOf(canonical) === undefined)
    if (unknown !== undefined) throw fhirError(422, 'not-found', `The profile ${unknown.slice(0, SHOWN)} is not loaded`)
    const found = await findingsOf(resource)
    const { resourceType } = resource
    return [
      ...found,
      ...profiles.flatMap((canonical) => findingsAbout(canonical, resourceType, resourceType)),
      ...namedBy(resource).flatMap(({ canonical, place }) => findingsAbout(canonical, resourceType, place)),
      // What has not the structure of its type may have texts anywhere.
      ...(found.length > 0 ? [] : longStringWarnings(resource, reading)),
      ...(found.length > 0 ? [] : definitionWarnings(resource)),
    ]
  }

/** Characters of a canonical that are said again. */
const SHOWN = 300
/** Profiles of one resource that are looked at. */
const MOST_NAMED = 100

function namedBy({ resourceType, meta }: Resource): readonly { readonly canonical: string; readonly place: string }[] {
  const profile: readonly unknown[] = Array.isArray(meta?.profile) ? meta.profile.slice(0, MOST_NAMED) : []
  return profile.flatMap((canonical, i) =>
    typeof canonical === 'string' ? [{ canonical, place: `${resourceType}.meta.profile[${i}]` }] : [],
  )
}

function findingsAbout(canonical: string, type: string, expression: string): readonly Issue[] {
  const base = baseTypeOf(canonical)
  if (base === undefined) {
    const text = `The profile ${canonical.slice(0, SHOWN)} is not loaded: the resource was not checked against it`
    return [{ severity: 'warning', code: 'not-found', expression, text }]
  }
  if (base === type || isAbove(base, type)) return []
  return [{ severity: 'error', code: 'structure', expression, text: `The profile ${canonical} is about ${base}, and this is a ${type}` }]
}

const BASE = /^http:\/\/hl7\.org\/fhir\/StructureDefinition\/([A-Za-z]+)(?:\|4\.0\.1)?$/

/** The resource type that R4 itself defines under this canonical. */
function baseTypeOf(canonical: string): string | undefined {
  const [, type = ''] = BASE.exec(canonical) ?? []
  return isResourceType(type) || type === 'Resource' || type === 'DomainResource' ? type : undefined
}

/** https://hl7.org/fhir/R4/resourcelist.html: those that have no narrative. */
const PLAIN: ReadonlySet<string> = new Set(['Binary', 'Bundle', 'Parameters'])

const isAbove = (base: string, type: string): boolean => base === 'Resource' || (base === 'DomainResource' && !PLAIN.has(type))
