/** Packages of definitions of an embedded server: in its data folder, also while it runs, which goes by them at once. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type JsonObject, readArchive } from '../adapters/filesystem/package-archive.ts'
import { addFolder, alone, type Found, type Label, packagesFound, removeFolder } from '../adapters/filesystem/package-folders.ts'
import { FilesystemPackages } from '../adapters/filesystem/packages.ts'
import { fetchArchive } from '../adapters/https/package-registry.ts'
import { mayReachOf } from '../adapters/https/private-hosts.ts'
import { type LeftOut, type Package, PackageInMaking, packageFiles } from '../fhir/profile/package.ts'
import { isR4, whyNotTaken } from '../fhir/profile/usable.ts'
import type { Resource } from '../fhir/resource.ts'
import { readConfig } from './config.ts'
import { ADDED } from './package-folder.ts'
import { PACKAGES } from './packages.ts'

/** A file; a package of the registry. */
export type Source = { readonly file: string } | Label

export type Added = Label & {
  readonly counts: Counts
  /** What is not used of it, and why. */
  readonly leftOut: readonly LeftOut[]
  /** As it names them: what it may refer to, and is not there. */
  readonly missing: readonly Label[]
  /** Canonicals that R4 says already: theirs count only where they are named with their version. */
  readonly ofR4: readonly string[]
}

export type Counts = { readonly profiles: number; readonly valueSets: number; readonly codeSystems: number }

/** `counts`: undefined where it cannot be read. */
export type Listed = Label & { readonly counts: Counts | undefined; readonly isOwn: boolean }

/** Bytes of what is kept of a package: a server reads a file of it at once. */
const MOST_KEPT = 64 * 1024 ** 2

/** Error, with which nothing has changed. */
export async function addPackage(data: string, source: Source): Promise<Added> {
  const [folder, manifest, making] = [join(data, ADDED), ...(await readSource(source))]
  const label = labelOf(manifest, source)
  const { made, leftOut } = making.made(label)
  const files = packageFiles(made)
  const size = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (size > MOST_KEPT) throw new Error(`${label.name} ${label.version} says more than ${MOST_KEPT} bytes: it is not added`)
  const canonicals = canonicalsOf(made)
  if (canonicals.length === 0) throw new Error(`${label.name} ${label.version} has nothing that a resource is checked against`)
  return alone(folder, async () => {
    const there = await labelsIn(folder)
    if (there.some((each) => isSame(each, label))) throw new Error(`${label.name} ${label.version} is there already`)
    await addFolder(folder, label, files)
    const missing = dependenciesOf(manifest).filter((wanted) => !there.some((each) => isWanted(each, wanted)))
    return {
      ...label,
      counts: countsOf(made),
      leftOut: [...leftOut, ...(await baseless(data, made))],
      missing,
      ofR4: await knownToR4(canonicals),
    }
  })
}

/** Error where it is none that was added. */
export async function removePackage(data: string, label: Label): Promise<void> {
  if (OWN.some((each) => isSame(each, label))) throw new Error(`${label.name} ${label.version} is part of the server`)
  const folder = join(data, ADDED)
  await alone(folder, async () => {
    const found = (await packagesFound(folder)).find((each) => isAt(each, label))
    if (found === undefined) throw new Error(`${label.name} ${label.version} is not there`)
    await removeFolder(folder, found.folder)
  })
}

export async function listPackages(data: string): Promise<readonly Listed[]> {
  const own = PACKAGES.map(async (folder, i) => ({ ...OWN[i]!, counts: await countsIn(folder), isOwn: true }))
  const added = (await packagesFound(join(data, ADDED))).map(async ({ folder, label }) => ({
    ...(label ?? labelIn(folder)),
    counts: label && (await countsIn(folder)),
    isOwn: false,
  }))
  return Promise.all([...own, ...added])
}

/** NAME-VERSION. */
function labelIn(folder: string): Label {
  const [, name = '', version = ''] = /^(.*?)-(\d.*)$/.exec(basename(folder)) ?? [undefined, basename(folder)]
  return { name, version }
}

const OWN: readonly Label[] = PACKAGES.map(labelIn)

const isSame = (a: Label, b: Label): boolean => a.name === b.name && a.version === b.version
const isAt = ({ folder, label }: Found, asked: Label): boolean => isSame(label ?? labelIn(folder), asked)

const labelsIn = async (folder: string): Promise<readonly Label[]> => [
  ...OWN,
  ...(await packagesFound(folder)).map((found) => found.label ?? labelIn(found.folder)),
]

async function readSource(source: Source): Promise<readonly [JsonObject, PackageInMaking]> {
  const keys: ReadonlySet<string> = new Set(
    JSON.parse(await readFile(fileURLToPath(new URL('../fhir/definitions/constraint-keys.json', import.meta.url)), 'utf8')),
  )
  const making = new PackageInMaking((key) => keys.has(key))
  const manifest = await readArchive(await archiveOf(source), (file) => {
    const definition = file as Resource
    const reason = whyNotTaken(definition)
    if (reason === undefined) making.add(definition)
    else making.leaveOut(definition, reason)
  })
  return [manifest, making]
}

async function archiveOf(source: Source): Promise<AsyncIterable<Uint8Array>> {
  if ('file' in source) return createReadStream(source.file)
  const { packageRegistry, privateHosts } = readConfig()
  const archive = await fetchArchive(source.name, source.version, { registry: packageRegistry, mayReach: mayReachOf(privateHosts) })
  return (async function* () {
    yield archive
  })()
}

/** Of the folder it gets, too. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/
const VERSION = /^\d[A-Za-z0-9.+_-]{0,63}$/

export const labelFrom = (text: string): Label | undefined => {
  const [name = '', version = '', ...more] = text.split('@')
  return more.length === 0 && NAME.test(name) && VERSION.test(version) ? { name, version } : undefined
}

function labelOf(manifest: JsonObject, source: Source): Label {
  const label = labelFrom(`${manifest.name}@${manifest.version}`)
  if (label === undefined) throw new Error('Its package.json has no name and version that a package may have')
  if (!('file' in source) && !isSame(label, source)) throw new Error(`The archive is of ${label.name} ${label.version}`)
  const { fhirVersions = manifest['fhir-version-list'] } = manifest
  const versions: readonly unknown[] = Array.isArray(fhirVersions) ? fhirVersions : []
  if (versions.length > 0 && !versions.some((version) => isR4(String(version))))
    throw new Error(
      `${label.name} ${label.version} is of FHIR ${versions.slice(0, 5).join(', ').slice(0, 60)}, and this server of R4 (4.0.1)`,
    )
  return label
}

const dependenciesOf = ({ dependencies }: JsonObject): readonly Label[] =>
  Object.entries(Object(dependencies)).map(([name, version]) => ({ name, version: String(version) }))

/** `1.0.x`: any of them. */
function isWanted(there: Label, { name, version }: Label): boolean {
  if (there.name !== name) return false
  return version === 'latest' || there.version === version || (version.endsWith('.x') && there.version.startsWith(version.slice(0, -1)))
}

function canonicalsOf({ profiles, valueSets, codeSystems }: Package): readonly string[] {
  return [...Object.values(profiles), valueSets, codeSystems].flatMap((file) => Object.keys(file))
}

const countsOf = ({ profiles, valueSets, codeSystems }: Package): Counts => ({
  profiles: Object.values(profiles).flatMap((file) => Object.keys(file)).length,
  valueSets: Object.keys(valueSets).length,
  codeSystems: Object.keys(codeSystems).length,
})

async function countsIn(folder: string): Promise<Counts | undefined> {
  const count = async (name: string): Promise<number> =>
    Object.keys(JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'))).length
  try {
    return { profiles: await count('index'), valueSets: await count('value-sets'), codeSystems: await count('code-systems') }
  } catch {
    return undefined
  }
}

async function knownToR4(canonicals: readonly string[]): Promise<readonly string[]> {
  const r4 = new FilesystemPackages(PACKAGES.slice(0, 1))
  const known = await Promise.all(
    canonicals.map(async (url) => (await r4.profile(url)) ?? (await r4.valueSet(url)) ?? (await r4.codeSystem(url))),
  )
  return canonicals.filter((_, i) => known[i] !== undefined)
}

/** Those that only say what differs from a profile that is not there. */
async function baseless(data: string, { profiles }: Package): Promise<readonly LeftOut[]> {
  const all = new FilesystemPackages(PACKAGES, join(data, ADDED))
  const found: LeftOut[] = []
  for (const { url, isWhole, base = '', type } of Object.values(profiles).flatMap((file) => Object.values(file))) {
    if (isWhole || base.split('|')[0] === `http://hl7.org/fhir/StructureDefinition/${type}`) continue
    if ((await all.profile(base)) === undefined) found.push({ url, reason: `It differs from ${base}, which is not there` })
  }
  return found
}
