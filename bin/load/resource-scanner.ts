/** Scans a text for its resources. Each is a range of bytes, with the offsets of its references. */
import { isUtf8 } from 'node:buffer'
import { parseJsonBytes } from '../../lambdas/fhir/json.ts'
import { hasLinks } from '../../lambdas/fhir/references.ts'
import { CompactJson, groupNamesByLength } from './compact-json.ts'
import type { SizedText } from './patched-bytes.ts'

/** A resource of a file, as a range of the copy without white space. */
export type ScannedResource = {
  /** Index of the entry in its Bundle, from 0; undefined for a resource outside of a Bundle. */
  entry: number | undefined
  fullUrl: string | undefined
  type: string | undefined
  /** Offset after the resourceType, at which an id can be inserted. */
  afterType: number
  id: string | undefined
  /** Version that the resource names in its meta.versionId. */
  version: string | undefined
  /** Criteria of ifNoneExist. A match replaces the resource. */
  unless: string | undefined
  readonly bytes: Buffer
  readonly start: number
  end: number
  /** References of the resource, and its narratives with links. */
  readonly patches: ScannedReference[]
  /** Whether an element `url` holds a URN. Only its context decides whether that is a reference. */
  hasUrns: boolean
}

/**
 * String that may be a reference, or a narrative with links. `start`, `end`: offsets, including the quotes. `text`: replacement; undefined:
 * the string stays.
 */
export type ScannedReference = {
  readonly start: number
  readonly end: number
  readonly to: string
  readonly isNarrative: boolean
  /** Whether it is the element `reference`, and not a URI with another possible meaning. */
  readonly isReference: boolean
  text: SizedText | undefined
}

const NAMES = groupNamesByLength([
  'resourceType',
  'id',
  'entry',
  'fullUrl',
  'resource',
  'reference',
  'url',
  'valueUri',
  'valueUrl',
  'div',
  'versionId',
  'method',
  'ifNoneExist',
])

/** Resources of a text. `refused`: entries with a request that does not store their resource. */
export type ScanResult = {
  readonly found: readonly ScannedResource[]
  readonly refused: readonly { readonly entry: number; readonly reason: string }[]
}

export function scanResources(bytes: Uint8Array, copy: Buffer): ScanResult {
  const json = new CompactJson(bytes, copy, NAMES)
  try {
    if (!isUtf8(bytes)) throw new SyntaxError()
    const found = resourcesOf(json)
    json.finish()
    return found
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(faultOf(bytes))
  }
}

/** Scans JSON that this program wrote, without checking it. */
export const scanResource = (bytes: Buffer): ScannedResource => resourceAt(new CompactJson(bytes, Buffer.allocUnsafe(bytes.length), NAMES))

function faultOf(bytes: Uint8Array): string {
  try {
    parseJsonBytes(bytes)
    return 'not a FHIR resource'
  } catch (error) {
    return (error as Error).message
  }
}

/** Returns the resources of a Bundle, or the single resource. */
function resourcesOf(json: CompactJson): ScanResult {
  let entries: ScannedResource[] | undefined
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

/** Scans an entry. It may lack a resource, a method or both. */
function entryAt(json: CompactJson): { readonly found: ScannedResource | undefined; readonly method: string | undefined } {
  let found: ScannedResource | undefined
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

/** Scans a resource. `atEntries`: consumes the value of the property `entry`. */
function resourceAt(json: CompactJson, atEntries?: () => void): ScannedResource {
  const found = foundAt(json)
  let entryPatches = NO_PATCHES
  const visit = (name: string, level: number): void => {
    if (level === 1 && name === 'resourceType') {
      found.type = json.string()
      found.afterType = json.length
    } else if (level === 1 && name === 'id') found.id = json.string()
    else if (level === 2 && name === 'versionId' && json.isAt(QUOTE)) found.version = json.string()
    else if (level === 1 && name === 'entry') {
      const from = found.patches.length
      if (atEntries === undefined) json.value((inside, depth) => visit(inside, depth + 1))
      else atEntries()
      entryPatches = { from, to: found.patches.length }
    } else if (level > 1 && name === 'url') found.hasUrns ||= json.isAt(URN)
    else if (REFERRING.has(name) && json.isAt(QUOTE)) {
      const start = json.length
      const to = json.string()
      const isNarrative = name === 'div'
      if (!isNarrative || hasLinks(to))
        found.patches.push({ start, to, end: json.length, isNarrative, isReference: name === 'reference', text: undefined })
    }
  }
  json.value(visit)
  // References in the entries of a Bundle are relative to that Bundle and stay as they are.
  if (found.type === 'Bundle') found.patches.splice(entryPatches.from, entryPatches.to - entryPatches.from)
  found.end = json.length
  return found
}

const REFERRING: ReadonlySet<string> = new Set(['reference', 'valueUri', 'valueUrl', 'div'])

const NO_PATCHES = { from: 0, to: 0 }

const foundAt = ({ copy, length }: CompactJson): ScannedResource => ({
  entry: undefined,
  fullUrl: undefined,
  type: undefined,
  afterType: length,
  id: undefined,
  version: undefined,
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
