/**
 * What is in the archive of a package, read as it comes and never written under the names it gives. Whoever made it is not trusted: sizes and
 * counts are bounded. https://confluence.hl7.org/display/FHIR/NPM+Package+Specification
 */
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'

/** Bytes, unpacked: of all, of one file. How many files. */
export type ArchiveLimits = { readonly all: number; readonly each: number; readonly files: number }

const BOUNDS: ArchiveLimits = { all: 1024 ** 3, each: 64 * 1024 ** 2, files: 100_000 }

/** Why an archive is none of a package, or more than is read. */
export class ArchiveError extends Error {}

/** Members of a JSON object, not looked at. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Not those that tar on a Mac writes beside each file for its attributes: `._X.json` holds no JSON. */
const OWN = /^package\/(?!\._)[^/]+\.json$/
const MANIFEST = 'package/package.json'
/** What lists the others, for indexes of packages. */
const LISTING = 'package/.index.json'

/** `take`: given each file of JSON in it. Its package.json. ArchiveError. */
export async function readArchive(
  compressed: AsyncIterable<Uint8Array>,
  take: (file: JsonObject) => void,
  bounds: ArchiveLimits = BOUNDS,
): Promise<JsonObject> {
  const unpacked = extract()
  let manifest: JsonObject | undefined
  let files = 0
  const read = pipeline(compressed, createGunzip(), (chunks: AsyncIterable<Buffer>) => bounded(chunks, bounds), unpacked)
  // What fails there ends the loop as well.
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
    throw error instanceof ArchiveError || isOfSystem(error) ? error : new ArchiveError(`It cannot be read (${(error as Error).message})`)
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

/** undefined: it is not looked at. */
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
    // As what is no object.
  }
  throw new ArchiveError(`${shown(name)} is not a JSON object`)
}

/** Characters of a name that somebody else chose. */
const SHOWN = 100
const shown = (name: string): string => name.slice(0, SHOWN)

const isOfSystem = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall !== undefined
