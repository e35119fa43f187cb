/** Definitions that a check looks up by canonical URL. https://hl7.org/fhir/R4/references.html#canonical */
import type { ProfileTree } from './profile-tree.ts'
import type { UcumUnits } from './rule-based-systems.ts'
import type { Terminology } from './value-set.ts'

/** Definitions for a check. Lookups return undefined for a definition that does not exist, or is not loaded yet. */
export type Library = Terminology & {
  readonly tree: (canonical: string) => ProfileTree | undefined
  /** Returns the reason why a loaded profile cannot be used, or undefined if it can. */
  readonly unusable?: (canonical: string) => string | undefined
  /** Whether the profile cannot be used because it is retired. */
  readonly isRetiredProfile?: (canonical: string) => boolean
  /** Returns the current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined
  /** Converts a UCUM quantity to base units. Returns undefined for an unknown unit, and for one that cannot be converted. */
  readonly inBaseUnits?: UcumUnits['inBaseUnits']
}
