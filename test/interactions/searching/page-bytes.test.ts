/** Large resources: a search unpacks no more of them than its page has room for, whatever it shows of them. Bytes are counted. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Access, WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { LETTERS } from '../../../lambdas/access/scopes.ts'
import type { BundlePage } from '../../../lambdas/fhir/bundle.ts'
import type { FhirRequest, FhirResponse } from '../../../lambdas/interactions/interaction.ts'
import { docref } from '../../../lambdas/interactions/operations/docref.ts'
import { everything } from '../../../lambdas/interactions/operations/everything.ts'
import { type RequestStore, versionCache } from '../../../lambdas/interactions/resources/version-cache.ts'
import { history } from '../../../lambdas/interactions/rest/history.ts'
import { search } from '../../../lambdas/interactions/rest/search.ts'
import type { SearchPorts } from '../../../lambdas/interactions/searching/page-entries.ts'
import { MAX_PAGE_BYTES } from '../../../lambdas/interactions/searching/page-limits.ts'
import { visibleStoreOf } from '../../../lambdas/interactions/visible-store.ts'
import type { GroupPlan, Plan } from '../../../lambdas/ports/search/plan.ts'
import type { Hit } from '../../../lambdas/ports/search/search-index.ts'
import type { ResourceKey, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'

const BASE = 'http://x'
const OF_PATIENT: Access = {
  clauses: [{ type: '*', letters: LETTERS, query: '', within: ['Patient/p'] }],
  isAdministrator: false,
  context: 'patient',
}
const DOCUMENTS = 100
const MB = 1_000_000

/** Bytes of each DocumentReference. */
let size: number
/** Bytes that the store unpacked. */
let unpacked: number
let ports: SearchPorts & Parameters<typeof history>[0]
beforeEach(() => {
  size = 14 * MB
  unpacked = 0
  ports = portsOf(versionCache(store))
})

const idOf = (i: number): string => `d${String(i).padStart(3, '0')}`

/** A DocumentReference refers to the one before it, and to the patient. */
function bodyOf({ type, id }: ResourceKey): Uint8Array {
  const head = { resourceType: type, id, subject: { reference: 'Patient/p' } }
  if (type !== 'DocumentReference') return Buffer.from(JSON.stringify(head))
  const next = Array.from({ length: DOCUMENTS }, (_, i) => ({ code: 'appends', target: { reference: `DocumentReference/${idOf(i)}` } }))
  const start = JSON.stringify({ ...head, relatesTo: id === idOf(0) ? next : [], description: '' }).slice(0, -2)
  return Buffer.concat([Buffer.from(start), Buffer.alloc(size - start.length - 2, 'x'), Buffer.from('"}')])
}

function versionOf({ tenant, type, id }: ResourceKey): ResourceVersion {
  const body = bodyOf({ tenant, type, id })
  unpacked += body.length
  return { tenant, type, id, versionId: 1, lastUpdated: 0, deleted: false, compartments: ['Patient/p'], body }
}

/** Like the stores: unpacks each body when it is reached. */
function readUpTo(keys: readonly ResourceKey[], room = Number.POSITIVE_INFINITY): readonly ResourceVersion[] {
  const found: ResourceVersion[] = []
  for (let left = room; left > 0 && found.length < keys.length; left -= found.at(-1)!.body.length)
    found.push(versionOf(keys[found.length]!))
  return found
}

const store: RequestStore = {
  current: async (keys, room) => readUpTo(keys, room),
  versions: async (keys, room) => readUpTo(keys, room),
  history: async (_scope, _window, after, limit) => {
    const versions: ResourceVersion[] = []
    const last = after?.versionId ?? DOCUMENTS + 1
    for (let left = 16 * MB; left > 0 && versions.length < Math.min(limit, last - 1); left -= size)
      versions.push({ ...versionOf({ tenant: 't', type: 'DocumentReference', id: 'd' }), versionId: last - 1 - versions.length })
    return { versions, more: versions.length < last - 1 }
  },
  commit: () => Promise.reject(new Error('not written')),
}

const hitOf = (i: number): Hit => {
  const key = { type: 'DocumentReference', id: idOf(i) }
  return { ...key, version: 1, position: { values: [], ...key } }
}
const hitsFrom = (from: number, limit: number): readonly Hit[] =>
  Array.from({ length: Math.min(limit, DOCUMENTS - from) }, (_, i) => hitOf(from + i))

const portsOf = (requests: RequestStore) =>
  ({
    index: {
      outdated: async () => [],
      async find({ types, after, limit }: Plan) {
        if (!types.includes('DocumentReference')) return { hits: [], more: false }
        const from = after === undefined ? 0 : Number(after.id.slice(1)) + 1
        return { hits: hitsFrom(from, limit), more: from + limit < DOCUMENTS, total: DOCUMENTS }
      },
      groups: async ({ hits, limit }: GroupPlan) => ({
        groups: Array.from({ length: Math.min(limit, DOCUMENTS / hits) }, (_, i) => ({
          key: `k${i}`,
          size: hits,
          hits: hitsFrom(i * hits, hits),
        })),
        more: false,
        total: DOCUMENTS,
      }),
    },
    resources: visibleStoreOf(requests, () => ({ evaluate: async () => [] })),
    clock: { now: () => 0, newId: () => 'id' },
    seal: { seal: (text: string) => text, digest: () => 'digest' },
    blobs: { get: async () => undefined, put: async () => undefined },
    choices: { versioning: true },
  }) as unknown as typeof ports

function requestOf(type: string, query: string, id?: string): FhirRequest {
  const given = { type, parameters: [...new URLSearchParams(query)], posted: false, preferences: {}, preconditions: {} }
  const by = { tenant: 't', client: 'c', access: WHOLE_ACCESS, baseUrl: BASE, reading: { baseUrl: BASE }, requestId: 'r' }
  return { ...given, ...by, ...(id === undefined ? {} : { id }) } as unknown as FhirRequest
}

const pageOf = ({ body }: FhirResponse): BundlePage => body as BundlePage
const modes = (page: BundlePage): readonly string[] =>
  page.entries.map(({ more }) => (more as { readonly search?: { readonly mode: string } }).search?.mode ?? 'version')
const hasNext = (page: BundlePage): boolean => page.link.some(({ relation }) => relation === 'next')
const cutOf = (page: BundlePage): string | undefined =>
  page.entries
    .map(({ resource }) => (resource as { readonly issue?: readonly { details: { text: string } }[] }).issue?.[0]?.details.text)
    .find((text) => text !== undefined)

describe('100 resources of 14 MB', () => {
  it.each([
    ['a search', () => search(ports)(requestOf('DocumentReference', '_count=1000'))],
    ['a search with _elements', () => search(ports)(requestOf('DocumentReference', '_count=1000&_elements=id'))],
    ['a search with _summary', () => search(ports)(requestOf('DocumentReference', '_count=1000&_summary=true'))],
    ['$docref', () => docref(ports)(requestOf('DocumentReference', 'patient=p&_count=1000'))],
    ['a grouped search', () => search(ports)(requestOf('DocumentReference', '_group=status:code&_groupCount=10&_count=10'))],
    ['a history', () => history(ports)(requestOf('DocumentReference', '_count=1000'))],
    ['a history that a patient sees', () => history(ports)({ ...requestOf('DocumentReference', '_count=1000', 'd'), access: OF_PATIENT })],
  ])('are returned one by one in pages of %s, which unpack at most two', async (_, ask) => {
    const page = pageOf(await ask())
    expect(modes(page).filter((mode) => mode !== 'outcome')).toHaveLength(1)
    expect(hasNext(page)).toBe(true)
    expect(unpacked).toBeLessThanOrEqual(2 * size)
  })

  it('are not unpacked beyond the page by $everything', async () => {
    const page = pageOf(await everything(ports)(requestOf('Patient', '', 'p')))
    expect(modes(page)).toEqual(['match'])
    expect(hasNext(page)).toBe(true)
    expect(unpacked).toBeLessThanOrEqual(2 * size)
  })
})

it('$everything that only looks for references in 100 resources of 14 MB continues on another page', async () => {
  const page = pageOf(await everything(ports)(requestOf('Patient', '_type=Practitioner', 'p')))
  expect(page.entries).toEqual([])
  expect(hasNext(page)).toBe(true)
  expect(unpacked).toBeLessThanOrEqual(50 * MB + 2 * size)
})

describe('A page', () => {
  it.each([
    [40_000, 100],
    [45_000, 100],
    [45_001, 99],
    [100_000, 45],
    [5 * MB, 1],
  ])('with resources of %d bytes holds %d and reads at most one more', async (bytes, shown) => {
    size = bytes
    const page = pageOf(await search(ports)(requestOf('DocumentReference', '_count=100')))
    expect(page.entries).toHaveLength(shown)
    expect(unpacked).toBeLessThanOrEqual(MAX_PAGE_BYTES + size)
  })
})

describe('Included resources', () => {
  it.each(['_include=DocumentReference:relatesto', '_revinclude=DocumentReference:relatesto'])(
    'end at 4.5 MB with their only match, with an OperationOutcome entry: %s',
    async (include) => {
      size = MB
      const page = pageOf(await search(ports)(requestOf('DocumentReference', `_count=1&${include}`)))
      expect(modes(page)).toEqual(['match', 'include', 'include', 'include', 'outcome'])
      expect(cutOf(page)).toMatch(/4500000 bytes/)
      expect(unpacked).toBeLessThanOrEqual(MAX_PAGE_BYTES + 2 * size)
    },
  )

  it('shorten a page of several matches, which has a next link', async () => {
    size = MB
    const page = pageOf(await search(ports)(requestOf('DocumentReference', '_count=2&_include=DocumentReference:relatesto')))
    expect(modes(page)).toEqual(['match', 'include', 'include', 'include', 'outcome'])
    expect(hasNext(page)).toBe(true)
  })

  it('are left out with an OperationOutcome entry if their match fills a page', async () => {
    const page = pageOf(await search(ports)(requestOf('DocumentReference', '_count=1&_include=DocumentReference:relatesto')))
    expect(modes(page)).toEqual(['match', 'outcome'])
    expect(unpacked).toBe(size)
  })

  it('are complete without such an entry if they fit', async () => {
    size = 20_000
    const page = pageOf(await search(ports)(requestOf('DocumentReference', '_count=1&_include=DocumentReference:relatesto')))
    expect(modes(page)).toEqual(['match', ...Array.from({ length: DOCUMENTS - 1 }, () => 'include')])
  })
})
