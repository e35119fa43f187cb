/** What a check looks up by canonical. https://hl7.org/fhir/R4/references.html#canonical */
import type { ProfileTree } from './profile-tree.ts'
import type { UcumUnits } from './rule-based-systems.ts'
import type { Terminology } from './value-set.ts'

/** undefined: not loaded, or not yet. */
export type Library = Terminology & {
  readonly tree: (canonical: string) => ProfileTree | undefined
  /** Why a profile that is there cannot be used. */
  readonly unusable?: (canonical: string) => string | undefined
  /** Whether that is why. */
  readonly isRetiredProfile?: (canonical: string) => boolean
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined
  /** A quantity of UCUM; undefined: not one of its units, or of no relation to others. */
  readonly inBaseUnits?: UcumUnits['inBaseUnits']
}
