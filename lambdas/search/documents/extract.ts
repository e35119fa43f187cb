/** Extracts the index document of a resource version. An index can compare its values without any FHIR rule. */
import { localReferencesOf } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { runToEnd } from '../../ports/execution/generator-driver.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { CANONICAL_FIELD, canonicalKeysOf, hasCanonical } from '../canonical.ts'
import { DocumentFields } from '../fields.ts'
import { type OnFailure, parametersOf, registryNumber, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { ValueExtractor } from '../types/search-type.ts'
import { SEARCH_TYPES } from '../types/search-types.ts'

/**
 * Number of the extractor. Raise it if the same resource is extracted differently. An index with another number still answers searches
 * until it is rebuilt.
 */
export const EXTRACTOR_VERSION = 12

/**
 * Number of the index format of the embedded deployment. Raise it if the current code cannot read or query older index files. The server
 * then discards the old index at its start and builds a new one.
 */
export const INDEX_FORMAT = 1

/** Index field of all local references of a resource. It exists if the search context has `allReferences`. */
export const ALL_REFERENCES_FIELD = '#references'

/** Maximum values of one parameter that are extracted between two yields, in a few milliseconds. */
const PIECE = 2_000

/**
 * Returns the index document of a version. `onFailure`: receives each custom parameter that fails on the resource and therefore has no
 * values.
 */
export const extract = (
  version: ResourceVersion,
  resource: Resource | undefined,
  reading?: SearchContext,
  onFailure?: OnFailure,
): IndexDocument => runToEnd(extractInPieces(version, resource, reading, onFailure))

/** Returns the same document as `extract`, but yields after each piece of a parameter with more than PIECE values. */
export function* extractInPieces(
  version: ResourceVersion,
  resource: Resource | undefined,
  reading: SearchContext = {},
  onFailure?: OnFailure,
): Generator<undefined, IndexDocument> {
  const { tenant, type, id, versionId, lastUpdated, deleted, compartments, body } = version
  const fields = new DocumentFields(reading)
  const present: string[] = []
  if (!deleted && resource !== undefined)
    for (const { parameter, extract, afterwards } of extractorsOf(type, reading.custom)) {
      const values = parameter.values(resource, onFailure)
      if (values.length === 0) continue
      if (parameter.type !== 'composite') present.push(parameter.field)
      if (values.length <= PIECE) extract(fields, values, resource, onFailure)
      else
        for (let i = 0; i < values.length; i += PIECE) {
          extract(fields, values.slice(i, i + PIECE), resource, onFailure)
          yield
        }
      afterwards?.(fields)
    }
  if (!deleted && resource !== undefined && hasCanonical(type))
    for (const name of canonicalKeysOf(resource)) fields.key(CANONICAL_FIELD, name)
  if (reading.allReferences === true && !deleted && resource !== undefined)
    for (const { reference } of localReferencesOf(resource, reading)) fields.key(ALL_REFERENCES_FIELD, reference)
  const { keys, spans, numbers, points, tuples, groups, order } = fields
  return {
    tenant,
    type,
    id,
    version: versionId,
    lastUpdated,
    deleted,
    keys,
    spans,
    numbers,
    points,
    tuples,
    groups,
    order,
    present,
    compartments,
    registry: registryNumber,
    body,
  }
}

type Extractor = {
  readonly parameter: SearchParameter
  readonly extract: ValueExtractor
  readonly afterwards?: (fields: DocumentFields) => void
}

const EXTRACTORS = new Map<string, readonly Extractor[]>()

/** Returns the searchable parameters of a type with their extractors, cached by type and list of custom parameters. */
export function extractorsOf(type: string, custom: SearchContext['custom'] = []): readonly Extractor[] {
  const cache = custom.some(({ base }) => base === type) ? withCustom(custom) : EXTRACTORS
  let found = cache.get(type)
  if (found === undefined) {
    found = createExtractors(parametersOf(type, custom))
    cache.set(type, found)
  }
  return found
}

const CUSTOM = new WeakMap<object, Map<string, readonly Extractor[]>>()

function withCustom(custom: object): Map<string, readonly Extractor[]> {
  const cache = CUSTOM.get(custom) ?? new Map<string, readonly Extractor[]>()
  CUSTOM.set(custom, cache)
  return cache
}

const createExtractors = (parameters: readonly SearchParameter[]): readonly Extractor[] =>
  parameters.flatMap((parameter) => {
    const searchType = SEARCH_TYPES[parameter.type]
    if (searchType === undefined) return []
    const { extractor, afterwards } = searchType
    return [{ parameter, extract: extractor(parameter), ...(afterwards === undefined ? {} : { afterwards: afterwards(parameter) }) }]
  })
