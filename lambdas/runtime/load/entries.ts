/** What a load sends of a file: every resource under its own id, references between them resolved, so that loading twice is safe. */
import { isUtf8 } from 'node:buffer'
import { parseJson, parseJsonBytes, writeJson } from '../../fhir/json.ts'
import { isConditional, replaceReferences } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { CompactJson, namesOf } from './compact-json.ts'
import { bytesOf, type Patched, type Text, textOf } from './patched.ts'

/** `key`: Type/id. `url`: the same in JSON. `resource`: its JSON, without white space. */
export type LoadEntry = {
  readonly key: string
  readonly url: Text
  readonly resource: Patched
  /** Conditional references, perhaps some twice: patches of the resource that wait for their text. */
  readonly searches: readonly Reference[]
  readonly place: string
}

/** Why something of a file is not loaded. */
export type Failure = { readonly place: string; readonly key: string; readonly reason: string }

/** The text of a file, or of a line. */
export type Opened = {
  /** Entries of a Bundle that cannot be put under an id, and why. */
  readonly refused: readonly Failure[]
  /** Resources that are only to be made unless a search, `Type?criteria`, finds one already. */
  readonly unless: readonly { readonly key: string; readonly search: string }[]
  /** `others`: keys of resources that are there already, by the keys they take the place of. */
  readonly entries: (others: ReadonlyMap<string, string>) => Iterable<LoadEntry>
}

/**
 * Bundles are opened, whatever their type; anything else is one entry. Error: not JSON, not a resource, a resource without an id.
 * `copy`: where the resources may stand, as long as the bytes.
 */
export function open(bytes: Uint8Array, place: string, copy: Buffer = Buffer.allocUnsafe(bytes.length)): Opened {
  const { found, refused } = read(bytes, copy)
  const keys = found.map(keyOf)
  const repeated = repeatedOf(keys)
  return {
    refused: [
      ...refused.map(({ entry, reason }) => ({ place: `${place}#${entry}`, key: '', reason })),
      ...[...repeated].map((key) => ({
        place,
        key,
        reason: 'is in the Bundle several times, as in a history: load the one that is meant',
      })),
    ],
    unless: found.flatMap(({ unless, type }, i) =>
      unless === undefined || repeated.has(keys[i]!) ? [] : [{ key: keys[i]!, search: `${type}?${unless}` }],
    ),
    entries: (others) => entriesOf(found, keys, place, others).filter(({ key }) => !repeated.has(key)),
  }
}

function repeatedOf(keys: readonly string[]): ReadonlySet<string> {
  const once = new Set<string>()
  return new Set(keys.filter((key) => once.size === once.add(key).size))
}

function entriesOf(
  found: readonly FoundResource[],
  keys: readonly string[],
  place: string,
  others: ReadonlyMap<string, string>,
): IteratorObject<LoadEntry> {
  const urls = keys.map((key) => textOf(JSON.stringify(others.get(key) ?? key)))
  const known = new Map<string, Text>()
  for (const [i, { fullUrl }] of found.entries()) if (fullUrl !== undefined) known.set(fullUrl, urls[i]!)
  // One after the other: most of it need not outlive a Bundle.
  return found
    .values()
    .map((each, i) => ({
      key: keys[i]!,
      url: urls[i]!,
      place: each.entry === undefined ? place : `${place}#${each.entry}`,
      ...resourceOf(each, keys[i]!, known),
    }))
    .filter(({ key }) => !others.has(key))
}

/** A resource of a file, and where it stands in the copy. */
type FoundResource = {
  /** Its place in the Bundle. */
  entry: number | undefined
  fullUrl: string | undefined
  type: string | undefined
  /** Where an id can be put. */
  afterType: number
  id: string | undefined
  /** Criteria: a match takes the place of the resource. */
  unless: string | undefined
  readonly bytes: Buffer
  readonly start: number
  end: number
  /** Of its references. */
  readonly patches: Reference[]
  /** Has elements `url` with URNs: whether those are references depends on what is around them. */
  hasUrns: boolean
}

/** The string between two places, quotes included, and what stands for it. */
export type Reference = { readonly start: number; readonly end: number; readonly to: string; text: Text | undefined }

const NAMES = namesOf([
  'resourceType',
  'id',
  'entry',
  'fullUrl',
  'resource',
  'reference',
  'url',
  'valueUri',
  'valueUrl',
  'method',
  'ifNoneExist',
])

/** What is in a text. `refused`: entries that ask for something else than that their resource is there. */
type Found = { readonly found: readonly FoundResource[]; readonly refused: readonly { readonly entry: number; readonly reason: string }[] }

function read(bytes: Uint8Array, copy: Buffer): Found {
  const json = new CompactJson(bytes, copy, NAMES)
  try {
    if (!isUtf8(bytes)) throw new SyntaxError()
    const found = resourcesOf(json)
    json.finish()
    return found
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    throw new Error(faultOf(bytes))
  }
}

function faultOf(bytes: Uint8Array): string {
  try {
    parseJsonBytes(bytes)
    return 'not a FHIR resource'
  } catch (error) {
    return (error as Error).message
  }
}

/** The resources of a Bundle, or the one resource there is. */
function resourcesOf(json: CompactJson): Found {
  let entries: FoundResource[] | undefined
  const refused: { entry: number; reason: string }[] = []
  let number = 0
  const whole = resourceAt(json, () => {
    if (entries !== undefined) throw new SyntaxError('entry twice')
    entries = []
    json.array(() => {
      const entry = number++
      const { found, method } = entryAt(json)
      if (method === 'DELETE' || method === 'PATCH') refused.push({ entry, reason: `${method} is not loaded, resources are` })
      else if (found !== undefined) entries!.push(Object.assign(found, { entry }))
    })
  })
  return whole.type === 'Bundle' && entries !== undefined ? { found: entries, refused } : { found: [whole], refused: [] }
}

/** An entry need not have either. */
function entryAt(json: CompactJson): { readonly found: FoundResource | undefined; readonly method: string | undefined } {
  let found: FoundResource | undefined
  let fullUrl: string | undefined
  let unless: string | undefined
  let method: string | undefined
  if (!json.isAt(OBJECT)) throw new SyntaxError('not an entry')
  json.value((name, level) => {
    if (name === 'ifNoneExist' && level === 2 && json.isAt(QUOTE)) unless = json.string().replace(/^\?/, '')
    if (name === 'method' && level === 2 && json.isAt(QUOTE)) method = json.string()
    if (level > 1) return
    if (name === 'fullUrl') fullUrl = json.string()
    else if (name === 'resource') {
      if (found !== undefined) throw new SyntaxError('resource twice')
      found = resourceAt(json)
    }
  })
  return { found: found && Object.assign(found, { fullUrl, unless }), method }
}

/** `atEntries` consumes the value of a property `entry`. */
function resourceAt(json: CompactJson, atEntries?: () => void): FoundResource {
  const found = foundAt(json)
  let ofEntries = NO_PATCHES
  const visit = (name: string, level: number): void => {
    if (level === 1 && name === 'resourceType') {
      found.type = json.string()
      found.afterType = json.length
    } else if (level === 1 && name === 'id') found.id = json.string()
    else if (level === 1 && name === 'entry') {
      const from = found.patches.length
      if (atEntries === undefined) json.value((inside, depth) => visit(inside, depth + 1))
      else atEntries()
      ofEntries = { from, to: found.patches.length }
    } else if (level > 1 && name === 'url') found.hasUrns ||= json.isAt(URN)
    else if ((name === 'reference' || name === 'valueUri' || name === 'valueUrl') && json.isAt(QUOTE)) {
      const start = json.length
      found.patches.push({ start, to: json.string(), end: json.length, text: undefined })
    }
  }
  json.value(visit)
  // What the entries of a Bundle refer to is that Bundle's affair.
  if (found.type === 'Bundle') found.patches.splice(ofEntries.from, ofEntries.to - ofEntries.from)
  found.end = json.length
  return found
}

const NO_PATCHES = { from: 0, to: 0 }

const foundAt = ({ copy, length }: CompactJson): FoundResource => ({
  entry: undefined,
  fullUrl: undefined,
  type: undefined,
  afterType: length,
  id: undefined,
  unless: undefined,
  bytes: copy,
  start: length,
  end: length,
  patches: [],
  hasUrns: false,
})

const QUOTE = Buffer.from('"')
const OBJECT = Buffer.from('{')
const URN = Buffer.from('"urn:')

function keyOf({ type, id, fullUrl }: FoundResource): string {
  if (type === undefined) throw new Error('not a FHIR resource')
  const [, ofUrl] = id === undefined ? (/([A-Za-z0-9\-.]{1,64})$/.exec(fullUrl ?? '') ?? []) : []
  if (id === undefined && ofUrl === undefined) throw new Error(`the ${type} has no id`)
  return `${type}/${id ?? ofUrl}`
}

type Known = ReadonlyMap<string, Text>

function resourceOf(found: FoundResource, key: string, known: Known): Pick<LoadEntry, 'resource' | 'searches'> {
  const { patches, afterType, id, hasUrns } = found
  for (const patch of patches) patch.text = known.get(patch.to)
  if (id === undefined) {
    const text = textOf(`,"id":${JSON.stringify(key.slice(key.indexOf('/') + 1))}`)
    patches.push({ start: afterType, end: afterType, to: '', text })
    patches.sort((a, b) => a.start - b.start)
  }
  const resource = hasUrns && known.size > 0 ? (resolved(found, known) ?? found) : found
  return { resource, searches: resource.patches.filter(({ text, to }) => text === undefined && isConditional(to)) }
}

/** Nothing for one that cannot be read: the server says why when it is sent as it is. */
function resolved(resource: FoundResource, known: Known): FoundResource | undefined {
  const keyAt = (url: string): string | undefined => {
    const quoted = known.get(url)
    return quoted && (JSON.parse(quoted.text) as string)
  }
  try {
    const tree = parseJson(bytesOf(resource).toString()) as Resource
    const bytes = Buffer.from(writeJson(replaceReferences(tree, keyAt)))
    return resourceAt(new CompactJson(bytes, Buffer.allocUnsafe(bytes.length), NAMES))
  } catch {
    return undefined
  }
}
