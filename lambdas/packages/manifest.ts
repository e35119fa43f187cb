/** Manifest of a package: the digest of each of its files. It is stored beside them and reveals a file that was changed later. */
import { createHash } from 'node:crypto'
import type { PackageLabel } from '../ports/definitions/package-store.ts'

/**
 * Manifest of a package. `files`: SHA-256 of each file in hexadecimal, by file name. Absent in packages that were added before manifests
 * had digests. `dependencies`: versions that the package names, by package name. Absent in packages that earlier releases added.
 */
export type Manifest = PackageLabel & {
  readonly files?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

export const MANIFEST_FILE = 'package.json'

/** Returns the files and a manifest with their digests. Both maps are from file name to text. */
export function addManifest(
  { name, version }: PackageLabel,
  files: ReadonlyMap<string, string>,
  dependencies: readonly PackageLabel[] = [],
): ReadonlyMap<string, string> {
  const digests = Object.fromEntries([...files].map(([file, text]) => [file, digestOf(text)]))
  return new Map([
    ...files,
    [MANIFEST_FILE, JSON.stringify({ name, version, dependencies: versionsByName(dependencies), files: digests } satisfies Manifest)],
  ])
}

const versionsByName = (labels: readonly PackageLabel[]): Readonly<Record<string, string>> =>
  Object.fromEntries(labels.map(({ name, version }) => [name, version]))

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Parses a manifest. Returns undefined if the text is not one. */
export function parseManifest(text: string): Manifest | undefined {
  const value = parseJsonObject(text) as Partial<Manifest> | undefined
  const { name, version, files = {} } = value ?? {}
  const isManifest = typeof name === 'string' && typeof version === 'string' && typeof files === 'object' && files !== null
  return isManifest ? (value as Manifest) : undefined
}

/**
 * Parses a JSON object. Returns undefined for any other text. The result has no prototype, so that keys cannot collide with inherited
 * names.
 */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.assign(Object.create(null), value) : undefined
  } catch {
    return undefined
  }
}
