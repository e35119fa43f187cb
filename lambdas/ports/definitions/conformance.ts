/**
 * Definitions by the canonicals that name them, as checks of profiles for one tenant read them. `url|version` names that version; without one
 * the newest that is loaded counts. What is retired comes only where there is nothing else, so that it can be told: it takes no part. undefined:
 * none is loaded under that name. A profile that cannot be used fails with the reason (Unusable); else they fail only where the machine does.
 */
import type { Profile } from '../../fhir/profile/definition.ts'
import type { CodeSystem, ValueSet } from '../../fhir/profile/value-set.ts'

export type Conformance = {
  readonly profile: (canonical: string) => Promise<Profile | undefined>
  readonly valueSet: (canonical: string) => Promise<ValueSet | undefined>
  readonly codeSystem: (canonical: string) => Promise<CodeSystem | undefined>
  /**
   * Another text after each change of what is loaded: what was found before it may be something else now. Tenants with the same text have the
   * same definitions. To ask costs next to nothing.
   */
  readonly state: () => Promise<string>
  /** What could not be read since then, a sentence of each: definitions in it are as those that are not loaded. */
  readonly damage: () => readonly string[]
}

/**
 * Each tenant has what the packages of the server hold, and what it wrote itself. It is of the moment it is asked for: of who wrote nothing until
 * then it stays what the packages hold, for others with the same text are given what was found in it.
 */
export type ConformanceLookup = (tenant: string) => Promise<Conformance>
