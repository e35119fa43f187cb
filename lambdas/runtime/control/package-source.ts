/** Reads the archive of a package from a file or from the registry, and prepares the files that are stored. */
import { createReadStream } from 'node:fs'
import { type JsonObject, readArchive } from '../../adapters/filesystem/package-archive.ts'
import { packageOfFolder } from '../../adapters/filesystem/packages.ts'
import { fetchArchive } from '../../adapters/https/package-registry.ts'
import { addressFilterOf } from '../../adapters/https/private-hosts.ts'
import { isConstraintOfR4 } from '../../fhir/definitions/constraint-keys.ts'
import {
  type Package,
  PackageBuilder,
  packageFilesOf,
  type SkippedDefinition,
  versionFileOf,
} from '../../fhir/profile/definitions/package-files.ts'
import { unsupportedReasonOf } from '../../fhir/profile/definitions/supported-definitions.ts'
import type { Resource } from '../../fhir/resource.ts'
import { addManifest } from '../../packages/manifest.ts'
import { dependenciesOf, labelOf } from '../../packages/package-labels.ts'
import { MAX_PACKAGE_PARAMETERS, searchParameterFilesOf, storedParameterOf } from '../../packages/package-search-parameters.ts'
import { PackagedDefinitions } from '../../packages/packaged-definitions.ts'
import { requirementFilesOf } from '../../packages/required-capabilities.ts'
import { guideFilesOf } from '../../packages/supported-profiles.ts'
import { isSamePackage, type PackageLabel } from '../../ports/definitions/package-store.ts'
import { comparePrecedence } from '../../ports/definitions/version-order.ts'
import { BUILTIN_PACKAGES } from '../builtin-packages.ts'
import { readConfig } from '../config.ts'

/** Packages that come with the server. */
export const OWN_PACKAGES = BUILTIN_PACKAGES.map(packageOfFolder)

/** Source of a package: a file, or name and version in the package registry. */
export type PackageSource = { readonly file: string } | PackageLabel

/** Maximum bytes of the stored files of a package. Larger packages are rejected. */
const MAX_STORED_BYTES = 64 * 1024 ** 2

/** Package that was read from its archive. `ofR4`: its canonical URLs that R4 also defines. */
export type ReadPackage = {
  readonly label: PackageLabel
  readonly manifest: JsonObject
  readonly content: Package
  readonly files: ReadonlyMap<string, string>
  readonly leftOut: readonly SkippedDefinition[]
  readonly parameters: readonly Resource[]
  readonly ofR4: readonly string[]
}

/** Whether the server searches by the drafts of a package whose code nothing else defines. */
export type DraftUse = 'inactive' | 'activated'

/** Reads a package and prepares its files. Throws an Error if the package cannot be added. */
export async function readSource(source: PackageSource, drafts: DraftUse = 'inactive'): Promise<ReadPackage> {
  const builder = new PackageBuilder(isConstraintOfR4, comparePrecedence)
  const [parameters, guides, statements]: [Resource[], Resource[], Resource[]] = [[], [], []]
  const { archive, version } = await archiveOf(source)
  const manifest = await readArchive(archive, (file) => {
    const definition = file as Resource
    const reason = unsupportedReasonOf(definition)
    if (definition.resourceType === 'SearchParameter') parameters.push(definition)
    if (definition.resourceType === 'ImplementationGuide') guides.push(definition)
    if (definition.resourceType === 'CapabilityStatement') statements.push(definition)
    if (reason === undefined) builder.add(definition)
    else builder.leaveOut(definition, reason)
  })
  const label = labelOf(manifest)
  if (!('file' in source) && !isSamePackage(label, { ...source, version }))
    throw new Error(`The archive contains ${label.name} ${label.version} instead of ${source.name} ${version}`)
  const { content, leftOut } = builder.build(label)
  const ofR4 = new Set(await definedByR4(canonicalsOf(content)))
  const files = addManifest(
    label,
    new Map([
      ...packageFilesOf(content),
      versionFileOf(content, (url) => ofR4.has(url)),
      ...searchParameterFilesOf(parameters, drafts),
      ...guideFilesOf(label.version, guides),
      ...requirementFilesOf(statements),
    ]),
    dependenciesOf(manifest),
  )
  checkLimits(label, content, files, parameters)
  const stored = parameters.map((each) => storedParameterOf(each, drafts))
  return { label, manifest, content, files, leftOut, parameters: stored, ofR4: [...ofR4] }
}

function checkLimits(
  { name, version }: PackageLabel,
  content: Package,
  files: ReadPackage['files'],
  parameters: readonly Resource[],
): void {
  if (parameters.length > MAX_PACKAGE_PARAMETERS)
    throw new Error(
      `${name} ${version} has ${parameters.length} search parameters; a package may have ${MAX_PACKAGE_PARAMETERS}. It is not added`,
    )
  const size = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (size > MAX_STORED_BYTES)
    throw new Error(`The definitions of ${name} ${version} have more than ${MAX_STORED_BYTES} bytes. It is not added`)
  if (canonicalsOf(content).length + parameters.length === 0)
    throw new Error(`${name} ${version} has no definition and no search parameter that this server supports. It is not added`)
}

async function archiveOf(source: PackageSource): Promise<{ readonly archive: AsyncIterable<Uint8Array>; readonly version: string }> {
  if ('file' in source) return { archive: createReadStream(source.file), version: '' }
  const { packageRegistry, privateHosts } = readConfig()
  const fetched = await fetchArchive(source.name, source.version, { registry: packageRegistry, mayReach: addressFilterOf(privateHosts) })
  async function* archive() {
    yield fetched.archive
  }
  return { archive: archive(), version: fetched.version }
}

function canonicalsOf({ profiles, valueSets, codeSystems }: Package): readonly string[] {
  return [...Object.values(profiles), valueSets, codeSystems].flatMap((file) => Object.keys(file))
}

async function definedByR4(canonicals: readonly string[]): Promise<readonly string[]> {
  const r4 = new PackagedDefinitions({ own: OWN_PACKAGES.slice(0, 1) })
  const known = await Promise.all(
    canonicals.map(async (url) => (await r4.profile(url)) ?? (await r4.valueSet(url)) ?? (await r4.codeSystem(url))),
  )
  return canonicals.filter((_, i) => known[i] !== undefined)
}
