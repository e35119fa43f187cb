/**
 * Definitions by canonical URL, as validation for one tenant reads them. `url|version` selects that version; `url` alone selects the newest
 * loaded one. A retired definition is returned only if there is no other: it takes no part in validation, but can be reported.
 *
 * Lookups return undefined if no such definition is loaded. A profile that cannot be used throws UnusableDefinition with the reason. All
 * other errors are machine faults.
 */
import type { Profile } from '../../fhir/profile/definition.ts'
import type { CodeSystem, ValueSet } from '../../fhir/profile/value-set.ts'

export type Conformance = {
  readonly profile: (canonical: string) => Promise<Profile | undefined>
  readonly valueSet: (canonical: string) => Promise<ValueSet | undefined>
  readonly codeSystem: (canonical: string) => Promise<CodeSystem | undefined>
  /**
   * Returns a text that changes with the loaded definitions; earlier validation results may be outdated after a change. Tenants with the
   * same text have the same definitions. The call is cheap.
   */
  readonly state: () => Promise<string>
  /**
   * Returns one sentence for each package or file that could not be read since the last change. Its definitions are treated as not loaded.
   */
  readonly damage: () => readonly string[]
}

/**
 * Returns the definitions of a tenant: those of the packages of the server, and those that the tenant wrote. If the tenant has written none
 * at the moment of the call, the result shows only the packages, even after a later write. Otherwise lookups read the current store, while
 * `state` stays that of the call.
 */
export type ConformanceLookup = (tenant: string) => Promise<Conformance>
