/** Settings and mapping of all indices. They do not depend on the search parameters. https://docs.opensearch.org/latest/field-types/ */
import { MAX_INDEX_FIELDS } from '../../ports/search/search-index.ts'

const KEYWORD = { type: 'keyword' }
const INTERVAL = { type: 'double_range' }

/** Mapping of sort values. They are read by document and never searched, so they need no index. */
const SORTED = { type: 'keyword', index: false }

/** Mapping of the fields below each top-level property. */
const FOLDERS = {
  keys: KEYWORD,
  groups: KEYWORD,
  spans: INTERVAL,
  numbers: INTERVAL,
  places: { type: 'geo_point' },
  points: KEYWORD,
  low: SORTED,
  high: SORTED,
}

/** Maximum intervals of a tuple, each in a field of its own. */
export const MAX_TUPLE_RANGES = 4

export const tupleRangeField = (i: number): string => `tuples.r${i}`

const ranges = Object.fromEntries(Array.from({ length: MAX_TUPLE_RANGES }, (_, i) => [`r${i}`, INTERVAL]))

/** Rejects a document with a field that no template covers. OpenSearch would otherwise guess its type. */
const DYNAMIC = 'strict_allow_templates'

export type IndexSettings = Readonly<Record<string, string | number | boolean>>

/** Numbers of shards by resource type; other types have one. An index keeps its number until it is rebuilt. */
export type ShardsByType = Readonly<Record<string, number>>

/** Returns the settings of shards. Routing shards are the shards themselves, because an index is never split (shard-routing.ts). */
export const shardSettings = (shards: ShardsByType, type: string): IndexSettings => {
  const count = shards[type] ?? 1
  return count === 1 ? {} : { number_of_shards: count, number_of_routing_shards: count }
}

export const indexDefinition = (settings: IndexSettings) => ({
  settings: { number_of_shards: 1, refresh_interval: '1s', 'index.mapping.total_fields.limit': MAX_INDEX_FIELDS, ...settings },
  mappings: {
    dynamic: DYNAMIC,
    date_detection: false,
    numeric_detection: false,
    // Only `body` is retained in `_source`. For recovery OpenSearch also retains the whole source until all copies of a shard have it.
    // Without that, documents of a recovered copy would be empty.
    _source: { includes: ['body'] },
    dynamic_templates: Object.entries(FOLDERS).map(([folder, mapping]) => ({
      [folder]: { path_match: `${folder}.*`, match_mapping_type: mapping === INTERVAL ? 'object' : '*', mapping },
    })),
    properties: {
      tenant: KEYWORD,
      type: KEYWORD,
      id: KEYWORD,
      lastUpdated: { type: 'long' },
      deleted: { type: 'boolean' },
      /** Whether the document is a stub with ids and times only, because the index rejected the complete one. */
      refused: { type: 'boolean' },
      registry: { type: 'long' },
      present: KEYWORD,
      compartments: KEYWORD,
      body: { type: 'binary' },
      tuples: { type: 'nested', dynamic: 'strict', properties: { field: KEYWORD, key: KEYWORD, labels: KEYWORD, ...ranges } },
      ...Object.fromEntries(Object.keys(FOLDERS).map((folder) => [folder, { type: 'object', dynamic: DYNAMIC }])),
    },
  },
})
