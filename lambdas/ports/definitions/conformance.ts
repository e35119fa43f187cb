/**
 * Definitions by canonical URL, as validation for one tenant reads them. `url|version` selects that version; `url` alone selects the newest
 * one that is loaded. A retired definition is returned only if there is no other: it takes no part in validation, but can be reported.
 * undefined: no such definition is loaded. A profile that cannot be used throws UnusableDefinition with the reason. All other errors are
 * machine faults.
 */
import type { Profile } from '../../fhir/profile/definition.ts'
import type { CodeSystem, ValueSet } from '../../fhir/profile/value-set.ts'

export type Conformance = {
  readonly profile: (canonical: string) => Promise<Profile | undefined>
  readonly valueSet: (canonical: string) => Promise<ValueSet | undefined>
  readonly codeSystem: (canonical: string) => Promise<CodeSystem | undefined>
  /**
   * Returns another text after each change of the loaded definitions: earlier results may be outdated then. Tenants with the same text have
   * the same definitions. The call is cheap.
   */
  readonly state: () => Promise<string>
  /** Returns one sentence for each part that was unreadable since the last change. Definitions in such a part are treated as not loaded. */
  readonly damage: () => readonly string[]
}

/**
 * Returns the definitions of a tenant: those of the packages of the server, and those that the tenant wrote. The result is a view at the
 * moment of the call. If the tenant had written nothing by then, the view shows only the packages, even after a later write. Tenants with
 * the same `state` share cached results.
 */
export type ConformanceLookup = (tenant: string) => Promise<Conformance>
