/** What a load sends of a file: every resource under its own id, references between them resolved, so that loading twice is safe. */
import { fullUrlResolver, type VersionedEntry } from '../../lambdas/fhir/full-urls.ts'
import { parseJson, writeJson } from '../../lambdas/fhir/json.ts'
import { isConditionalReference, replaceLinks, replaceReferences } from '../../lambdas/fhir/references.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { type PatchedBytes, patchedBufferOf, type SizedText, sizedTextOf } from './patched-bytes.ts'
import { type ScannedReference, type ScannedResource, scanResource, scanResources } from './resource-scanner.ts'

/** `key`: Type/id. `url`: the same in JSON. `resource`: its JSON, without white space. */
export type LoadEntry = {
  readonly key: string
  readonly url: SizedText
  readonly resource: PatchedBytes
  /** Conditional references, and URNs that no entry of the Bundle has, perhaps some twice: patches of the resource that wait for their text. */
  readonly searches: readonly ScannedReference[]
  readonly place: string
}

/** Why something of a file is not loaded. */
export type LoadFailure = { readonly place: string; readonly key: string; readonly reason: string }

/** The text of a file, or of a line. */
export type ParsedEntries = {
  /** Entries of a Bundle that cannot be put under an id, and why. */
  readonly refused: readonly LoadFailure[]
  /** Resources that are only to be made unless a search, `Type?criteria`, finds one already. */
  readonly unless: readonly { readonly key: string; readonly search: string }[]
  /** URNs by which other files may refer to its resources. */
  readonly fullUrls: readonly { readonly key: string; readonly url: string }[]
  /** `others`: keys of resources that are there already, by the keys they take the place of. */
  readonly entries: (others: ReadonlyMap<string, string>) => Iterable<LoadEntry>
}

/**
 * Bundles are opened, whatever their type; anything else is one entry. Error: not JSON, not a resource, a resource without an id.
 * `copy`: where the resources may stand, as long as the bytes.
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

/** Returns the fullUrl if it is a URN; for a resource outside a Bundle, the URN of its UUID. */
function urnOf({ fullUrl, id = '' }: ScannedResource): string | undefined {
  if (fullUrl === undefined) return UUID.test(id) ? `urn:uuid:${id}` : undefined
  return isUrn(fullUrl) ? fullUrl : undefined
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** Keys, and why it is not known what is meant. */
type Unclear = ReadonlyMap<string, string>

function repeatedOf(keys: readonly string[]): Unclear {
  const once = new Set<string>()
  const repeated = keys.filter((key) => once.size === once.add(key).size)
  return new Map(repeated.map((key) => [key, 'is in the Bundle several times, as in a history: load the one that is meant']))
}

/** https://hl7.org/fhir/R4/bundle.html#bdl-7 */
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
  const known = new Map<string, Known>()
  const all = found.map(({ fullUrl, told }, i) => {
    const name = others.get(keys[i]!) ?? keys[i]!
    const entry = { name, url: sizedTextOf(JSON.stringify(name)), told }
    if (fullUrl !== undefined) known.set(fullUrl, entry)
    return entry
  })
  // One after the other: most of it need not outlive a Bundle.
  return found
    .values()
    .map((each, i) => ({
      key: keys[i]!,
      url: all[i]!.url,
      place: each.entry === undefined ? place : `${place}#${each.entry}`,
      ...resourceOf(each, keys[i]!, meaningIn(known, each.fullUrl)),
    }))
    .filter(({ key }) => !others.has(key))
}

function keyOf({ type, id, fullUrl }: ScannedResource): string {
  if (type === undefined) throw new Error('not a FHIR resource')
  const [, ofUrl] = id === undefined ? (/([A-Za-z0-9\-.]{1,64})$/.exec(fullUrl ?? '') ?? []) : []
  if (id === undefined && ofUrl === undefined) throw new Error(`the ${type} has no id`)
  return `${type}/${id ?? ofUrl}`
}

/** An entry, by its fullUrl. */
type Known = VersionedEntry & { readonly name: string; readonly url: SizedText }

type MeaningOf = (reference: string) => Known | undefined

/** Which version an entry will be is not known: a reference to its version names the resource. */
function meaningIn(known: ReadonlyMap<string, Known>, fullUrl: string | undefined): MeaningOf | undefined {
  if (known.size === 0) return undefined
  const meantBy = fullUrlResolver(known, fullUrl)
  return (reference) => meantBy(reference)?.entry
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
  const rewritten = found.hasUrns ? rewrittenBy(found, meaningOf) : undefined
  if (rewritten !== undefined) return rewritten
  for (const patch of found.patches) patch.text ??= textFor(patch, meaningOf)
  return found
}

function textFor({ to, isNarrative }: ScannedReference, meaningOf: MeaningOf): SizedText | undefined {
  if (!isNarrative) return meaningOf(to)?.url
  const after = replaceLinks(to, (link) => meaningOf(link)?.name)
  return after === to ? undefined : sizedTextOf(JSON.stringify(after))
}

/** Nothing for one that cannot be read: the server says why when it is sent as it is. */
function rewrittenBy(found: ScannedResource, meaningOf: MeaningOf): ScannedResource | undefined {
  const nameOf = (url: string): string | undefined => meaningOf(url)?.name
  try {
    const tree = parseJson(patchedBufferOf(found).toString()) as Resource
    return scanResource(Buffer.from(writeJson(replaceReferences(tree, nameOf, nameOf))))
  } catch {
    return undefined
  }
}
