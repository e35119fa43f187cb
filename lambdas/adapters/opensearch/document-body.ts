/** Converts an index document to the JSON that is stored in OpenSearch. */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { IndexDocument, SortValues } from '../../ports/search/search-index.ts'
import { boundsOf } from './ranges.ts'
import { sortText } from './sort-values.ts'

/** Returns the id of a document in its index. OpenSearch accepts ids of at most 512 bytes. */
export const idOf = ({ tenant, type, id }: Pick<IndexDocument, 'tenant' | 'type' | 'id'>): string => `${tenant}~${type}~${id}`

/** Names of the top-level properties in the mapping of an index. */
export type IndexProperties = ReadonlySet<string>

/**
 * Returns the document as JSON. For a deleted resource this is a tombstone: it remains in the index, so that an older version that arrives
 * later is rejected. `form`: properties that the index knows; all others are omitted.
 */
export function bodyOf(document: IndexDocument, keepsBody: boolean, form?: IndexProperties): string {
  const content = contentOf(document, keepsBody)
  return JSON.stringify(form === undefined ? content : Object.fromEntries(Object.entries(content).filter(([name]) => form.has(name))))
}

function contentOf(document: IndexDocument, keepsBody: boolean): Readonly<Record<string, unknown>> {
  const { tenant, type, id, lastUpdated, deleted, registry } = document
  const about = { tenant, type, id, lastUpdated, deleted, registry }
  if (deleted) return about
  const { keys, groups, present, compartments, spans, numbers, points, order, body } = document
  return {
    ...about,
    keys,
    groups,
    present,
    compartments,
    spans: mapped(spans, (each) => each.map(([low, high]) => boundsOf(low, high))),
    numbers: mapped(numbers, (each) => each.map(([low, high]) => boundsOf(low, high))),
    places: mapped(points, (each) => each.map(([lat, lon]) => ({ lat, lon }))),
    points: mapped(points, (each) => each.map(([lat, lon]) => `${lat},${lon}`)),
    tuples: Object.entries(document.tuples).flatMap(([field, tuples]) =>
      tuples.map(({ key, labels, ranges }) => ({
        field,
        key,
        labels,
        ...Object.fromEntries(ranges.map(([low, high], i) => [`r${i}`, boundsOf(low, high)])),
      })),
    ),
    low: mapped(order, ({ low }) => sortText(low)),
    high: mapped(order, ({ high }) => sortText(high)),
    ...(keepsBody ? { body: deflateRawSync(body).toString('base64') } : {}),
  }
}

/** Returns the stub of a rejected document: the document with only the values by which its id and time can be searched. */
export function stubOf(document: IndexDocument, keepsBody: boolean, form?: IndexProperties): string {
  const kept = <T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(record).filter(([field]) => ALWAYS.test(field)))
  const stub: IndexDocument = {
    ...document,
    keys: kept(document.keys),
    spans: kept(document.spans),
    order: kept<SortValues>(document.order),
    present: document.present.filter((each) => ALWAYS.test(each)),
    numbers: {},
    points: {},
    tuples: {},
    groups: {},
    compartments: [],
  }
  return `{"refused":true,${bodyOf(stub, keepsBody, form).slice(1)}`
}

const ALWAYS = /^_(?:id|lastUpdated)(?::|$)/

export const readBody = (text: string): Uint8Array => inflateRawSync(Buffer.from(text, 'base64'))

const mapped = <T, To>(record: Readonly<Record<string, T>>, to: (value: T) => To): Readonly<Record<string, To>> =>
  Object.fromEntries(Object.entries(record).map(([field, value]) => [field, to(value)]))
