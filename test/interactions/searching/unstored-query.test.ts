/** Searches whose links carry a stored query, while the disk is full. */
import { join } from 'node:path'
import { afterAll, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { BundlePage } from '../../../lambdas/fhir/bundle.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { search } from '../../../lambdas/interactions/rest/search.ts'
import type { SearchPorts } from '../../../lambdas/interactions/searching/page-entries.ts'
import { visibleStoreOf } from '../../../lambdas/interactions/visible-store.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const store = await SqliteResourceStore.open({ file: join(newFolder(), 'store.db') })
afterAll(() => store.close())
await store.commit([writeOf(patientKeyOf('a'))], [])

/** One match, and more after it. */
const portsWith = (put: () => Promise<void>): SearchPorts =>
  ({
    index: { find: async () => ({ hits: [{ type: 'Patient', id: 'a', version: 1, position: {} }], more: true }), outdated: async () => [] },
    resources: visibleStoreOf(store, () => ({ evaluate: async () => [] })),
    clock: { now: () => 0, newId: () => 'id' },
    seal: { seal: () => 'sealed', digest: () => 'digest' },
    blobs: { get: async () => undefined, put },
  }) as unknown as SearchPorts

const requestOf = (posted: boolean, id: string) =>
  ({
    ...{ tenant: patientKeyOf('a').tenant, access: WHOLE_ACCESS, baseUrl: 'http://x', type: 'Patient', parameters: [['_id', id]], posted },
    ...{ preferences: {}, reading: { baseUrl: 'http://x' }, requestId: 'r' },
  }) as unknown as FhirRequest

const pageOf = async (ports: SearchPorts, request: FhirRequest): Promise<BundlePage> => (await search(ports)(request)).body as BundlePage
const modes = ({ entries }: BundlePage) => entries.map(({ more }) => (more as { search: { mode: string } }).search.mode)
const FULL = async () => Promise.reject(new MachineFault('disk-full', 'full'))

it.each([
  ['sent by POST', requestOf(true, 'a')],
  ['of 5,000 characters', requestOf(false, `a,${'b'.repeat(5_000)}`)],
])('a search %s is answered without links if it cannot be stored, and says so', async (_, request) => {
  const page = await pageOf(portsWith(FULL), request)
  expect([page.link, modes(page)]).toEqual([[], ['match', 'outcome']])
  expect(JSON.stringify(page.entries[1])).toContain('The disk of the server is full')
  const stored = await pageOf(
    portsWith(async () => undefined),
    request,
  )
  expect([stored.link.map(({ relation }) => relation), modes(stored)]).toEqual([['self', 'first', 'next'], ['match']])
})

it('a short search has its links, because nothing is stored', async () => {
  const page = await pageOf(portsWith(FULL), requestOf(false, 'a'))
  expect([page.link.map(({ relation }) => relation), modes(page)]).toEqual([['self', 'first', 'next'], ['match']])
})

it('a search that fails to be stored for another reason fails', () =>
  expect(
    pageOf(
      portsWith(async () => Promise.reject(new TypeError('defect'))),
      requestOf(true, 'a'),
    ),
  ).rejects.toThrow('defect'))
