/** Canonical URLs of definitions: `url` or `url|version`. https://hl7.org/fhir/R4/references.html#canonical */

const BASE = 'http://hl7.org/fhir/StructureDefinition/'

/**
 * Returns NAME of `http://hl7.org/fhir/StructureDefinition/NAME`, or undefined for any other URL. Does not check that R4 defines a type
 * with this name. Primitive types are not included.
 */
export const r4TypeNameOf = (canonical: string): string | undefined => {
  const url = withoutVersion(canonical)
  const name = url.slice(BASE.length)
  return url.startsWith(BASE) && /^[A-Z][A-Za-z]*$/.test(name) ? name : undefined
}

/** Splits `url|version` at the first `|`. The version is undefined if there is none. */
export function splitCanonical(canonical: string): { readonly url: string; readonly version: string | undefined } {
  const at = canonical.indexOf('|')
  return at === -1 ? { url: canonical, version: undefined } : { url: canonical.slice(0, at), version: canonical.slice(at + 1) }
}

export const withoutVersion = (canonical: string): string => splitCanonical(canonical).url
