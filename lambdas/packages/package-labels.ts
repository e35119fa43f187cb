/** Names and versions of packages. https://confluence.hl7.org/display/FHIR/NPM+Package+Specification */
import { isR4Version } from '../fhir/profile/definitions/supported-definitions.ts'
import type { PackageLabel } from '../ports/definitions/package-store.ts'

/** A name is also that of a folder. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/
const VERSION = /^\d[A-Za-z0-9.+_-]{0,63}$/
/** Those that name no version, but lead to one. */
const TAG = /^[a-z]{1,20}$/

/** NAME@VERSION. */
export const parseLabel = (text: string): PackageLabel | undefined => labelWith(text, (version) => VERSION.test(version))

/** NAME, NAME@VERSION. */
export const parsePackageReference = (text: string): PackageReference | undefined => (NAME.test(text) ? { name: text } : parseLabel(text))

/** Without a version: the one there is. */
export type PackageReference = Pick<PackageLabel, 'name'> & Partial<PackageLabel>

/** NAME@VERSION, where the version may also be `latest` and the like. */
export const parsePackageRequest = (text: string): PackageLabel | undefined =>
  labelWith(text, (version) => VERSION.test(version) || TAG.test(version))

function labelWith(text: string, isVersion: (text: string) => boolean): PackageLabel | undefined {
  const [name = '', version = '', ...more] = text.split('@')
  return more.length === 0 && NAME.test(name) && isVersion(version) ? { name, version } : undefined
}

type Manifest = Readonly<Record<string, unknown>>

/** As its package.json has it. Error where that is none of a package of R4. */
export function labelOf(manifest: Manifest): PackageLabel {
  const label = parseLabel(`${manifest.name}@${manifest.version}`)
  if (label === undefined) throw new Error('Its package.json has no name and version that a package may have')
  const { fhirVersions = manifest['fhir-version-list'] } = manifest
  const versions: readonly unknown[] = Array.isArray(fhirVersions) ? fhirVersions : []
  if (versions.length > 0 && !versions.some((version) => isR4Version(String(version))))
    throw new Error(
      `${label.name} ${label.version} is of FHIR ${versions.slice(0, 5).join(', ').slice(0, 60)}, and this server of R4 (4.0.1)`,
    )
  return label
}

export const dependenciesOf = ({ dependencies }: Manifest): readonly PackageLabel[] =>
  Object.entries(Object(dependencies)).map(([name, version]) => ({ name, version: String(version) }))

/** A server is of one R4, whatever its corrections are called. */
const R4 = 'hl7.fhir.r4.core'

/** `1.0.x`: any of them; `latest`, and the builds that nobody publishes: whichever is there. */
export function matchesRequest(there: PackageLabel, { name, version }: PackageLabel): boolean {
  if (there.name !== name) return false
  if (name === R4 || TAG.test(version) || there.version === version) return true
  return version.endsWith('.x') && there.version.startsWith(version.slice(0, -1))
}
