/** SearchParameters of a package. */
import type { Resource } from '../../fhir/resource.ts'
import type { PackageLabel } from './package-store.ts'

export type PackageDefinitions = PackageLabel & { readonly parameters: readonly Resource[] }
