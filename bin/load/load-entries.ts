/**
 * Parses a file into the entries that a load sends. Each resource keeps its id, so that loading twice is safe. References between entries
 * are resolved.
 */
import { fullUrlResolver, type VersionedEntry } from '../../lambdas/fhir/full-urls.ts'
import { parseJson, writeJson } from '../../lambdas/fhir/json.ts'
import { isConditionalReference, replaceLinks, replaceReferences } from '../../lambdas/fhir/references.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { type PatchedBytes, patchedBufferOf, type SizedText, sizedTextOf } from './patched-bytes.ts'
import { type ScannedReference, type ScannedResource, scanResource, scanResources } from './resource-scanner.ts'

/** A resource to send. `key`: Type/id. `url`: the key as JSON. `resource`: its JSON, without white space. */
export type LoadEntry = {
  readonly key: string
  readonly url: SizedText
  readonly resource: PatchedBytes
  /**
   * Conditional references, and URNs that no entry of the Bundle has. The same text may occur several times. Each is a patch of the
   * resource; its replacement `text` is set once it is resolved.
   */
  readonly searches: readonly ScannedReference[]
  readonly place: string
}

/** Reason why a resource or a part of a file is not loaded. */
export type LoadFailure = { readonly place: string; readonly key: string; readonly reason: string }

/** Content of a file or of a line. */
export type ParsedEntries = {
  /** Entries of a Bundle that are not loaded, with the reason: DELETE, PATCH, or an ambiguous id or fullUrl. */
  readonly refused: readonly LoadFailure[]
  /** Resources to create only if a search, `Type?criteria`, finds none. */
  readonly unless: readonly { readonly key: string; readonly search: string }[]
  /** URNs by which other files may refer to the resources. */
  readonly fullUrls: readonly { readonly key: string; readonly url: string }[]
  /** Returns the entries. `others`: keys of existing resources, by the keys that they replace. */
  readonly entries: (others: ReadonlyMap<string, string>) => Iterable<LoadEntry>
}

/**
 * Parses a text. A Bundle of any type yields its entries; anything else is one entry. `copy`: buffer for the resources, as long as the
 * bytes. Throws if the text is not JSON or not a resource, or if a resource has neither an id nor a fullUrl that ends with one.
 */
export function parseLoadEntries(bytes: Uint8Array, place: string, copy: Buffer = Buffer.allocUnsafe(bytes.length)): ParsedEntries {
  const { found, refused } = scanResources(bytes, copy)
  const keys = found.map(keyOf)
  const unclear = new Map([...sharingUrls(found, keys), ...repeatedOf(keys)])
  return {
    refused: [
      ...refused.map(({ entry, reason }) => ({ place: `${place}#${entry}`, key: '', reason })),
      ...[...unclear].map(([key, reason]) => ({ place, key, reason })),
    ],
    unless: found.flatMap(({ unless, type }, i) =>
      unless === undefined || unclear.has(keys[i]!) ? [] : [{ key: keys[i]!, search: `${type}?${unless}` }],
    ),
    fullUrls: found.flatMap((each, i) => {
      const url = urnOf(each)
      return url === undefined || unclear.has(keys[i]!) ? [] : [{ key: keys[i]!, url }]
    }),
    entries: (others) => entriesOf(found, keys, place, others).filter(({ key }) => !unclear.has(key)),
  }
}

const isUrn = (url: string): boolean => /^urn:(?:uuid|oid):/.test(url)

/** Returns the fullUrl if it is a URN. Without a fullUrl, returns the URN of the id if that is a UUID. */
function urnOf({ fullUrl, id = '' }: ScannedResource): string | undefined {
  if (fullUrl === undefined) return UUID.test(id) ? `urn:uuid:${id}` : undefined
  return isUrn(fullUrl) ? fullUrl : undefined
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Type/id of the entries that cannot be loaded because their id or fullUrl is ambiguous, with the reason. */
type Unclear = ReadonlyMap<string, string>

function repeatedOf(keys: readonly string[]): Unclear {
  const once = new Set<string>()
  const repeated = keys.filter((key) => once.size === once.add(key).size)
  return new Map(repeated.map((key) => [key, 'is in the Bundle several times, as in a history: load the one that is meant']))
}

/** Returns the entries that share a fullUrl with an entry of another id. https://hl7.org/fhir/R4/bundle.html#bdl-7 */
function sharingUrls(found: readonly ScannedResource[], keys: readonly string[]): Unclear {
  const owner = new Map<string, string>()
  const sharing = new Map<string, string>()
  for (const [i, { fullUrl }] of found.entries()) {
    const key = keys[i]!
    const first = fullUrl === undefined ? key : (owner.get(fullUrl) ?? key)
    if (fullUrl !== undefined) owner.set(fullUrl, first)
    if (first !== key) for (const each of [first, key]) sharing.set(each, 'has the fullUrl of another entry: references may mean either')
  }
  return sharing
}

function entriesOf(
  found: readonly ScannedResource[],
  keys: readonly string[],
  place: string,
  others: ReadonlyMap<string, string>,
): IteratorObject<LoadEntry> {
  const byFullUrl = new Map<string, FullUrlTarget>()
  const all = found.map(({ fullUrl, version }, i) => {
    const name = others.get(keys[i]!) ?? keys[i]!
    const entry = { name, url: sizedTextOf(JSON.stringify(name)), version }
    if (fullUrl !== undefined) byFullUrl.set(fullUrl, entry)
    return entry
  })
  // Lazy, so that the data for sending an entry can be freed after its Bundle is sent.
  return found
    .values()
    .map((each, i) => ({
      key: keys[i]!,
      url: all[i]!.url,
      place: each.entry === undefined ? place : `${place}#${each.entry}`,
      ...resourceOf(each, keys[i]!, meaningIn(byFullUrl, each.fullUrl)),
    }))
    .filter(({ key }) => !others.has(key))
}

function keyOf({ type, id, fullUrl }: ScannedResource): string {
  if (type === undefined) throw new Error('not a FHIR resource')
  const [, idOfUrl] = id === undefined ? (/([A-Za-z0-9\-.]{1,64})$/.exec(fullUrl ?? '') ?? []) : []
  if (id === undefined && idOfUrl === undefined) throw new Error(`the ${type} has no id`)
  return `${type}/${id ?? idOfUrl}`
}

/** Entry that a fullUrl refers to. */
type FullUrlTarget = VersionedEntry & { readonly name: string; readonly url: SizedText }

type MeaningOf = (reference: string) => FullUrlTarget | undefined

/**
 * Returns the resolver of references between entries. The future version of an entry is unknown, so a reference to a version becomes one to
 * the resource.
 */
function meaningIn(byFullUrl: ReadonlyMap<string, FullUrlTarget>, fullUrl: string | undefined): MeaningOf | undefined {
  if (byFullUrl.size === 0) return undefined
  const resolve = fullUrlResolver(byFullUrl, fullUrl)
  return (reference) => resolve(reference)?.entry
}

function resourceOf(found: ScannedResource, key: string, meaningOf: MeaningOf | undefined): Pick<LoadEntry, 'resource' | 'searches'> {
  if (found.id === undefined) addId(found, key)
  const resource = meaningOf === undefined ? found : replaced(found, meaningOf)
  return {
    resource,
    searches: resource.patches.filter(
      ({ text, to, isNarrative, isReference }) =>
        text === undefined && !isNarrative && (isConditionalReference(to) || (isReference && isUrn(to))),
    ),
  }
}

function addId({ patches, afterType }: ScannedResource, key: string): void {
  const text = sizedTextOf(`,"id":${JSON.stringify(key.slice(key.indexOf('/') + 1))}`)
  patches.push({ start: afterType, end: afterType, to: '', isNarrative: false, isReference: false, text })
  patches.sort((a, b) => a.start - b.start)
}

function replaced(found: ScannedResource, meaningOf: MeaningOf): ScannedResource {
  const rewritten = found.hasUrns ? rewrite(found, meaningOf) : undefined
  if (rewritten !== undefined) return rewritten
  for (const patch of found.patches) patch.text ??= textFor(patch, meaningOf)
  return found
}

function textFor({ to, isNarrative }: ScannedReference, meaningOf: MeaningOf): SizedText | undefined {
  if (!isNarrative) return meaningOf(to)?.url
  const after = replaceLinks(to, (link) => meaningOf(link)?.name)
  return after === to ? undefined : sizedTextOf(JSON.stringify(after))
}

/** Returns the resource with its references replaced, or undefined if it cannot be parsed. The server then reports the reason. */
function rewrite(found: ScannedResource, meaningOf: MeaningOf): ScannedResource | undefined {
  const nameOf = (url: string): string | undefined => meaningOf(url)?.name
  try {
    const tree = parseJson(patchedBufferOf(found).toString()) as Resource
    return scanResource(Buffer.from(writeJson(replaceReferences(tree, nameOf, nameOf))))
  } catch {
    return undefined
  }
}
