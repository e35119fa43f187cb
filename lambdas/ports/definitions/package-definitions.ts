/** SearchParameters of a package. */
import type { Resource } from '../../fhir/resource.ts'
import type { PackageLabel } from './package-store.ts'

/** Element of a stored SearchParameter: the operator activated the draft. No package can have it. */
export const ACTIVATED = 'isActivatedDraft'

export type PackageDefinitions = PackageLabel & { readonly parameters: readonly Resource[] }

/** Requirements on servers in a CapabilityStatement of a package. `canonical`: `url|version` of the statement. */
export type CapabilityRequirements = { readonly canonical: string; readonly parts: readonly PartRequirements[] }

/** Requirements on a resource type, or on the whole server if there is no `type`. `operations`: canonical URLs, or names. */
export type PartRequirements = {
  readonly type?: string
  readonly interactions: readonly string[]
  readonly parameters: readonly string[]
  readonly operations: readonly string[]
  readonly includes: readonly string[]
  readonly revIncludes: readonly string[]
  /** Search parameters that clients use together. */
  readonly combinations: readonly (readonly string[])[]
}

/** ImplementationGuides of the added packages as `url|version`, and the requirements of their CapabilityStatements. */
export type AddedGuides = { readonly guides: readonly string[]; readonly requirements: readonly CapabilityRequirements[] }
