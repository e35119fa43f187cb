/** Definitions that a check looks up by canonical URL. https://hl7.org/fhir/R4/references.html#canonical */
import type { ProfileTree } from './profile-tree.ts'
import type { UcumUnits } from './rule-based-systems.ts'
import type { Terminology } from './value-set.ts'

/** Lookups return undefined if the definition is not loaded, or not yet. */
export type Library = Terminology & {
  readonly tree: (canonical: string) => ProfileTree | undefined
  /** Returns why a loaded profile cannot be used. */
  readonly unusable?: (canonical: string) => string | undefined
  /** Whether the profile cannot be used because it is retired. */
  readonly isRetiredProfile?: (canonical: string) => boolean
  /** Returns the current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined
  /** Converts a UCUM quantity to base units. Returns undefined for an unknown unit, or one without relation to others. */
  readonly inBaseUnits?: UcumUnits['inBaseUnits']
}
