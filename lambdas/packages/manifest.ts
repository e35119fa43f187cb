/** What the files of a package are, kept beside them: by it is seen that one is not as it was. */
import { createHash } from 'node:crypto'
import type { PackageLabel } from '../ports/definitions/package-store.ts'

/** `files`: their SHA-256, hexadecimal. Absent in packages that were added before there was one. */
export type Manifest = PackageLabel & { readonly files?: Readonly<Record<string, string>> }

export const MANIFEST_FILE = 'package.json'

/** Name of the file → text. */
export function addManifest({ name, version }: PackageLabel, files: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const digests = Object.fromEntries([...files].map(([file, text]) => [file, digestOf(text)]))
  return new Map([...files, [MANIFEST_FILE, JSON.stringify({ name, version, files: digests } satisfies Manifest)]])
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** undefined: it is none. */
export function parseManifest(text: string): Manifest | undefined {
  const value = parseJsonObject(text) as Partial<Manifest> | undefined
  const { name, version, files = {} } = value ?? {}
  const isSaid = typeof name === 'string' && typeof version === 'string' && typeof files === 'object' && files !== null
  return isSaid ? (value as Manifest) : undefined
}

/** undefined: the text is no JSON object. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.assign(Object.create(null), value) : undefined
  } catch {
    return undefined
  }
}
