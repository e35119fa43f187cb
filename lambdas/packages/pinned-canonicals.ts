/**
 * Adds versions to the canonical URLs in a definition of a package, so that an additional version of another package does not change their
 * meaning. Skips URLs with a version. https://hl7.org/fhir/R4/references.html#canonical
 */
import type { Binding, Profile, ProfileElement, ProfileType } from '../fhir/profile/definition.ts'
import type { Inclusion, ValueSet } from '../fhir/profile/value-set.ts'
import { type Found, type VersionOf, versionsWithin } from './definition-versions.ts'

/** Returns the definition with versions in its canonical URLs, as its package resolves them. */
export async function pinnedDefinition<Definition extends Profile | ValueSet>(found: Found<Definition>): Promise<Definition> {
  const versionOf = await versionsWithin(found)
  const definition: Profile | ValueSet = found.definition
  return ('elements' in definition ? pinProfile(definition, versionOf) : pinValueSet(definition, versionOf)) as Definition
}

type Pin = (canonical: string) => string

const pinOf =
  (versionOf: VersionOf): Pin =>
  (canonical) => {
    const version = canonical.includes('|') ? undefined : versionOf(canonical)
    return version === undefined ? canonical : `${canonical}|${version}`
  }

function pinProfile(profile: Profile, versionOf: VersionOf): Profile {
  const pin = pinOf(versionOf)
  const { base, elements } = profile
  return { ...profile, ...(base === undefined ? {} : { base: pin(base) }), elements: elements.map((each) => pinElement(each, pin)) }
}

function pinElement(element: ProfileElement, pin: Pin): ProfileElement {
  const { types, binding, content } = element
  if (types === undefined && binding === undefined && content === undefined) return element
  return {
    ...element,
    ...(types === undefined ? {} : { types: types.map((each) => pinType(each, pin)) }),
    ...(binding === undefined ? {} : { binding: pinBinding(binding, pin) }),
    ...(content === undefined ? {} : { content: pinContent(content, pin) }),
  }
}

const pinType = ({ code, profiles, targetProfiles }: ProfileType, pin: Pin): ProfileType => ({
  code,
  ...(profiles === undefined ? {} : { profiles: profiles.map(pin) }),
  ...(targetProfiles === undefined ? {} : { targetProfiles: targetProfiles.map(pin) }),
})

const pinBinding = ({ valueSet, max, ...binding }: Binding, pin: Pin): Binding => ({
  ...binding,
  ...(valueSet === undefined ? {} : { valueSet: pin(valueSet) }),
  ...(max === undefined ? {} : { max: pin(max) }),
})

/** Adds the version to a content reference, which is `url#id`, or `#id` within the same definition. */
function pinContent(content: string, pin: Pin): string {
  const at = content.indexOf('#')
  return at <= 0 ? content : `${pin(content.slice(0, at))}${content.slice(at)}`
}

function pinValueSet(set: ValueSet, versionOf: VersionOf): ValueSet {
  const pinned = (inclusions: readonly Inclusion[]): readonly Inclusion[] => inclusions.map((each) => pinInclusion(each, versionOf))
  const { include, exclude, expanded } = set
  return {
    ...set,
    include: pinned(include),
    ...(exclude === undefined ? {} : { exclude: pinned(exclude) }),
    ...(expanded === undefined ? {} : { expanded: pinned(expanded) }),
  }
}

function pinInclusion(inclusion: Inclusion, versionOf: VersionOf): Inclusion {
  const { system, version, valueSets } = inclusion
  const systemVersion = version ?? (system === undefined ? undefined : versionOf(system))
  return {
    ...inclusion,
    ...(systemVersion === undefined ? {} : { version: systemVersion }),
    ...(valueSets === undefined ? {} : { valueSets: valueSets.map(pinOf(versionOf)) }),
  }
}
