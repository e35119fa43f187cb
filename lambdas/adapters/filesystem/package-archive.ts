/**
 * Reads the archive of a package as a stream. It never writes files under the names in the archive. Authors of packages are not trusted, so
 * sizes and the number of files are limited. https://confluence.hl7.org/display/FHIR/NPM+Package+Specification
 */
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'

/**
 * `all`: maximum unpacked bytes in total. `each`: maximum bytes of one file. `files`: maximum number of entries. A larger archive is
 * rejected with ArchiveError.
 */
export type ArchiveLimits = { readonly all: number; readonly each: number; readonly files: number }

const BOUNDS: ArchiveLimits = { all: 1024 ** 3, each: 64 * 1024 ** 2, files: 100_000 }

/** Archive that is not a package, or exceeds a limit. */
export class ArchiveError extends Error {}

/** JSON object whose members are not validated. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Matches the JSON files of the package, except `._X.json`: tar on macOS adds such files for file attributes, and they contain no JSON. */
const OWN = /^package\/(?!\._)[^/]+\.json$/
const MANIFEST = 'package/package.json'
/** File index of the package. It is skipped. */
const LISTING = 'package/.index.json'

/**
 * Returns the content of package.json. Calls `take` with every other JSON file. Throws ArchiveError if the archive is not a valid package.
 */
export async function readArchive(
  compressed: AsyncIterable<Uint8Array>,
  take: (file: JsonObject) => void,
  bounds: ArchiveLimits = BOUNDS,
): Promise<JsonObject> {
  const unpacked = extract()
  let manifest: JsonObject | undefined
  let files = 0
  const read = pipeline(compressed, createGunzip(), (chunks: AsyncIterable<Buffer>) => bounded(chunks, bounds), unpacked)
  // Avoid an unhandled rejection: the same failure also ends the loop below, and is handled there.
  read.catch(() => undefined)
  try {
    for await (const entry of unpacked) {
      if (++files > bounds.files) throw new ArchiveError(`It holds more than ${bounds.files} files`)
      const file = await fileIn(entry, bounds.each)
      if (entry.header.name === MANIFEST) manifest = file
      else if (file !== undefined) take(file)
    }
    await read
  } catch (error) {
    unpacked.destroy()
    if (error instanceof ArchiveError || isOfSystem(error)) throw error
    throw new ArchiveError(`It cannot be read as a .tgz archive of a package (${(error as Error).message})`)
  }
  if (manifest === undefined) throw new ArchiveError(`It has no ${MANIFEST}`)
  return manifest
}

async function* bounded(chunks: AsyncIterable<Buffer>, { all }: ArchiveLimits): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    // guard: package-archive-size-limit
    if (size > all) throw new ArchiveError(`It holds more than ${all} bytes`)
    yield chunk
  }
}

type Entry = { readonly header: Headers } & AsyncIterable<unknown>
type Headers = { readonly name: string; readonly type?: string | null | undefined; readonly size?: number | undefined }

/** Returns the JSON object in the file, or undefined if the file is not needed. */
async function fileIn(entry: Entry, longest: number): Promise<JsonObject | undefined> {
  const { name, type, size = 0 } = entry.header
  if (type === 'symlink' || type === 'link') throw new ArchiveError(`It holds a link (${shown(name)}), as no package does`)
  if (type !== 'file' || !OWN.test(name) || name === LISTING) {
    for await (const _ of entry);
    return undefined
  }
  if (size > longest) throw new ArchiveError(`${shown(name)} is longer than ${longest} bytes`)
  const chunks: Uint8Array[] = []
  for await (const chunk of entry) chunks.push(chunk as Uint8Array)
  return parsed(name, Buffer.concat(chunks).toString('utf8'))
}

function parsed(name: string, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {
    // Invalid JSON is rejected below, like any other value that is not an object.
  }
  throw new ArchiveError(`${shown(name)} is not a JSON object`)
}

/** Maximum characters of a file name in a message. The author of the archive chose the name. */
const SHOWN = 100
const shown = (name: string): string => name.slice(0, SHOWN)

const isOfSystem = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall !== undefined
