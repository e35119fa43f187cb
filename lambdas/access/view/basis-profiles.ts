/** Profiles of claims without amounts. https://hl7.org/fhir/us/carin-bb/ */

/** Profile that requires amounts, in two groups: canonical URL, and version with its bar. */
const WHOLE = /^(http:\/\/hl7\.org\/fhir\/us\/carin-bb\/StructureDefinition\/C4BB-ExplanationOfBenefit-(?!.*-Basis)[^|]+)(\|.*)?$/

/**
 * Returns the profile that a claim without amounts claims in place of `profile`: the Basis profile of the same version, or undefined if that
 * is not loaded. Returns other profiles unchanged.
 */
export function basisOf(profile: string, isLoaded: (canonical: string) => boolean): string | undefined {
  const [whole, url, version = ''] = WHOLE.exec(profile) ?? []
  if (whole === undefined) return profile
  const basis = `${url}-Basis${version}`
  return isLoaded(basis) ? basis : undefined
}
