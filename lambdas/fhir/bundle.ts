/** Bundles in responses, written entry by entry. Stored resources are copied as bytes, not parsed. https://hl7.org/fhir/R4/bundle.html */
import { parseJsonBytes, writeJson } from './json.ts'
import type { Element, Resource } from './resource.ts'

export type BundleLink = { readonly relation: 'self' | 'first' | 'previous' | 'next'; readonly url: string }

/** Resource of an entry: its JSON as bytes, in one or several chunks, or a parsed tree. */
type EntryResource = Uint8Array | readonly Uint8Array[] | Resource

/**
 * Entry of a response. `more`: members of the entry that follow the resource, such as `search`. `about`: compartments of the resource, for
 * the audit record; they are not written to the JSON.
 */
export type BundleEntry = {
  readonly fullUrl?: string
  readonly resource?: EntryResource
  readonly more?: Element
  readonly about?: readonly string[]
}

export type BundlePage = {
  readonly kind: 'bundle'
  readonly type: 'searchset' | 'history' | 'batch-response' | 'transaction-response'
  readonly total?: number
  readonly link: readonly BundleLink[]
  readonly entries: readonly BundleEntry[]
}

export const isBundlePage = (body: unknown): body is BundlePage => (body as BundlePage | undefined)?.kind === 'bundle'

const isBytes = (resource: BundleEntry['resource']): resource is Uint8Array | readonly Uint8Array[] =>
  resource instanceof Uint8Array || Array.isArray(resource)

/** Returns the size in bytes of a resource that is available as bytes. Returns 0 for a tree, which is not serialized yet. */
export function byteSizeOf(resource: BundleEntry['resource']): number {
  if (!isBytes(resource)) return 0
  return resource instanceof Uint8Array ? resource.length : resource.reduce((sum, { length }) => sum + length, 0)
}

/**
 * Minimum length of the collected text, in UTF-16 code units, at which it is yielded as a chunk of its own. Shorter text waits for the next
 * entry.
 */
const LONG_TEXT = 65_536

/** Yields the JSON of the page in chunks, so that a large page is never serialized in one step. */
export function* writeBundleChunks(page: BundlePage): Generator<Uint8Array, void> {
  let text = writeJson(headOf(page)).slice(0, -1)
  let separator = ',"entry":['
  for (const entry of page.entries) {
    text += separator
    separator = ','
    if (!isBytes(entry.resource)) text += writeJson(entryTree(entry))
    else {
      const [opening, closing] = aroundResource(entry)
      yield Buffer.from(text + opening)
      if (entry.resource instanceof Uint8Array) yield entry.resource
      else yield* entry.resource
      text = closing
    }
    if (text.length < LONG_TEXT) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(`${text}${page.entries.length === 0 ? '' : ']'}}`)
}

const headOf = ({ type, total, link }: BundlePage): Resource => ({
  resourceType: 'Bundle',
  type,
  ...(total === undefined ? {} : { total }),
  ...(link.length === 0 ? {} : { link }),
})

/** Returns the JSON text of an entry before and after its resource. The resource itself is yielded as bytes. */
function aroundResource({ fullUrl, more }: BundleEntry): readonly [string, string] {
  const members = more === undefined ? '' : writeJson(more).slice(1, -1)
  return [
    fullUrl === undefined ? '{"resource":' : `{"fullUrl":${JSON.stringify(fullUrl)},"resource":`,
    `${members === '' ? '' : ','}${members}}`,
  ]
}

/** Returns an entry as a tree. Accepts an entry whose resource is a tree or absent; does not accept bytes. */
const entryTree = ({ fullUrl, resource, more }: BundleEntry): Element => ({
  ...(fullUrl === undefined ? {} : { fullUrl }),
  ...(resource === undefined ? {} : { resource }),
  ...more,
})

/** Returns the resource of an entry as a tree, parsed if it consists of bytes. */
export function entryResourceOf(resource: EntryResource): Resource {
  if (!isBytes(resource)) return resource
  return parseJsonBytes(resource instanceof Uint8Array ? resource : Buffer.concat(resource)) as Resource
}
