/** What a check looks up by canonical. https://hl7.org/fhir/R4/references.html#canonical */
import type { Tree } from './node.ts'
import type { CodeSystem, ValueSet } from './value-set.ts'

/** undefined: not loaded, or not yet. */
export type Library = {
  readonly tree: (canonical: string) => Tree | undefined
  readonly valueSet: (canonical: string) => ValueSet | undefined
  readonly codeSystem: (canonical: string) => CodeSystem | undefined
}

const BASE = 'http://hl7.org/fhir/StructureDefinition/'

/** The type of R4 that a canonical names. */
export const ownType = (canonical: string): string | undefined => {
  const url = withoutVersion(canonical)
  const name = url.slice(BASE.length)
  return url.startsWith(BASE) && /^[A-Z][A-Za-z]*$/.test(name) ? name : undefined
}

export const withoutVersion = (canonical: string): string => canonical.split('|', 1)[0]!
