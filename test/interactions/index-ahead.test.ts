/** A store that was set back: what the index knows better is not shown, and nobody takes it for a fault of the program. */
import { join } from 'node:path'
import { describe as about, afterAll, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import { describeError } from '../../lambdas/http/steps/describe-errors.ts'
import type { FhirRequest } from '../../lambdas/interactions/interaction.ts'
import { search } from '../../lambdas/interactions/rest/search.ts'
import type { SearchPorts } from '../../lambdas/interactions/searching/page-entries.ts'
import { visibleStoreOf } from '../../lambdas/interactions/visible-store.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { patientKeyOf, writeOf } from '../fixtures/versions.ts'

const store = await SqliteResourceStore.open({ file: join(newFolder(), 'restored.db') })
afterAll(() => store.close())
await store.commit([writeOf(patientKeyOf('a'))], [])
for (const expected of [1, 2]) await store.commit([writeOf(patientKeyOf('a'), { expected })], [])

const finding = (id: string, version: number): SearchPorts =>
  ({
    index: { find: async () => ({ hits: [{ type: 'Patient', id, version, position: {} }], more: false }), outdated: async () => [] },
    resources: visibleStoreOf(store, () => ({ evaluate: async () => [] })),
    clock: { now: () => 0, newId: () => 'id' },
    seal: {},
    blobs: {},
  }) as unknown as SearchPorts

const request = {
  ...{ tenant: patientKeyOf('a').tenant, access: WHOLE_ACCESS, baseUrl: 'http://x', type: 'Patient', parameters: [], posted: false },
  ...{ preferences: {}, reading: { baseUrl: 'http://x' }, requestId: 'r' },
} as unknown as FhirRequest

about('a search with an index hit on', () => {
  it('a stored version returns it', async () => {
    const { body } = await search(finding('a', 3))(request)
    expect(body).toMatchObject({ entries: [{ fullUrl: 'http://x/Patient/a' }] })
  })

  it.each([
    ['a later version than the store has', 'a', 5],
    ['a resource that the store does not have', 'b', 1],
  ])('%s is 503 with Retry-After, and is reported', async (_, id, version) => {
    const error = await search(finding(id, version))(request).catch((thrown: unknown) => thrown)
    const reported: unknown[] = []
    const { status, headers, body } = describeError(error, 'r', (...told) => reported.push(told))
    expect([status, headers, reported]).toEqual([503, { 'retry-after': '60' }, [[error, 'r']]])
    expect(body).toMatchObject({
      issue: [{ severity: 'error', code: 'incomplete', details: { text: expect.stringMatching(/until it is rebuilt/) } }],
    })
  })
})
