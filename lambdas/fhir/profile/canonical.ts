/** Canonicals of definitions: `url` or `url|version`. https://hl7.org/fhir/R4/references.html#canonical */

const BASE = 'http://hl7.org/fhir/StructureDefinition/'

/** The type of R4 that a canonical names. */
export const r4TypeNameOf = (canonical: string): string | undefined => {
  const url = withoutVersion(canonical)
  const name = url.slice(BASE.length)
  return url.startsWith(BASE) && /^[A-Z][A-Za-z]*$/.test(name) ? name : undefined
}

/** `url|version`. */
export function splitCanonical(canonical: string): { readonly url: string; readonly version: string | undefined } {
  const at = canonical.indexOf('|')
  return at === -1 ? { url: canonical, version: undefined } : { url: canonical.slice(0, at), version: canonical.slice(at + 1) }
}

export const withoutVersion = (canonical: string): string => splitCanonical(canonical).url
