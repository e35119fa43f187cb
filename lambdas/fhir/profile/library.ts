/** What a check looks up by canonical. https://hl7.org/fhir/R4/references.html#canonical */
import type { Tree } from './profile-tree.ts'
import type { Units } from './rule-based-systems.ts'
import type { Terminology } from './value-set.ts'

/** undefined: not loaded, or not yet. */
export type Library = Terminology & {
  readonly tree: (canonical: string) => Tree | undefined
  /** Why a profile that is there cannot be used. */
  readonly unusable?: (canonical: string) => string | undefined
  /** Whether that is why. */
  readonly isRetiredProfile?: (canonical: string) => boolean
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined
  /** A quantity of UCUM; undefined: not one of its units, or of no relation to others. */
  readonly inBaseUnits?: Units['inBaseUnits']
}

const BASE = 'http://hl7.org/fhir/StructureDefinition/'

/** The type of R4 that a canonical names. */
export const ownType = (canonical: string): string | undefined => {
  const url = withoutVersion(canonical)
  const name = url.slice(BASE.length)
  return url.startsWith(BASE) && /^[A-Z][A-Za-z]*$/.test(name) ? name : undefined
}

/** `url|version`. */
export function partsOf(canonical: string): { readonly url: string; readonly version: string | undefined } {
  const at = canonical.indexOf('|')
  return at === -1 ? { url: canonical, version: undefined } : { url: canonical.slice(0, at), version: canonical.slice(at + 1) }
}

export const withoutVersion = (canonical: string): string => partsOf(canonical).url
