/** Names and versions of packages. https://confluence.hl7.org/display/FHIR/NPM+Package+Specification */
import { isR4Version } from '../fhir/profile/definitions/supported-definitions.ts'
import type { PackageLabel } from '../ports/definitions/package-store.ts'

/** Package name. It becomes part of the name of a folder, so it contains no slash. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/
const VERSION = /^\d[A-Za-z0-9.+_-]{0,63}$/
/** Tag, such as `latest`, which a request may name in place of a version. */
const TAG = /^[a-z]{1,20}$/

/** Parses NAME@VERSION. Returns undefined if the text has another form. */
export const parseLabel = (text: string): PackageLabel | undefined => labelWith(text, (version) => VERSION.test(version))

/** Parses NAME or NAME@VERSION. Returns undefined if the text has another form. */
export const parsePackageReference = (text: string): PackageReference | undefined => (NAME.test(text) ? { name: text } : parseLabel(text))

/** Reference to an added package. Without a version it means the only added package of that name. */
export type PackageReference = Pick<PackageLabel, 'name'> & Partial<PackageLabel>

/** Parses NAME@VERSION, where the version may also be a tag such as `latest`. Returns undefined if the text has another form. */
export const parsePackageRequest = (text: string): PackageLabel | undefined =>
  labelWith(text, (version) => VERSION.test(version) || TAG.test(version))

function labelWith(text: string, isVersion: (text: string) => boolean): PackageLabel | undefined {
  const [name = '', version = '', ...more] = text.split('@')
  return more.length === 0 && NAME.test(name) && isVersion(version) ? { name, version } : undefined
}

type Manifest = Readonly<Record<string, unknown>>

/**
 * Returns the name and version from the package.json of a package. Throws if they are invalid, or if the package names FHIR versions and
 * none is R4.
 */
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

/** Core package of R4. The server has one version of it, which satisfies a request for any version. */
export const R4 = 'hl7.fhir.r4.core'

/** Suffix of a package name that names the version, such as `.v311` for 3.1.1. Some versions are published under both names. */
const VERSION_SUFFIX = /[.]v\d+$/

/**
 * Whether an available package satisfies a request. `1.0.x` accepts every version that begins with `1.0.`. A tag, such as `latest` or
 * `current`, accepts every version. `hl7.fhir.us.core.v311` is another name of `hl7.fhir.us.core`.
 */
export function matchesRequest(label: PackageLabel, { name, version }: PackageLabel): boolean {
  if (label.name.replace(VERSION_SUFFIX, '') !== name.replace(VERSION_SUFFIX, '')) return false
  if (name === R4 || TAG.test(version) || label.version === version) return true
  return version.endsWith('.x') && label.version.startsWith(version.slice(0, -1))
}
