/** A history that cannot tell yet what is newest says until when it tells everything. */
import { expect, it } from '@jest/globals'
import type { FhirRequest, Ports } from '../../lambdas/interactions/interaction.ts'
import { history } from '../../lambdas/interactions/rest/history.ts'
import type { HistoryPage } from '../../lambdas/ports/store/resource-store.ts'

const headersOf = async (page: Partial<HistoryPage>) => {
  const resources = () => ({ history: async () => ({ versions: [], more: false, ...page }) })
  const ports = { resources, clock: { now: () => 0, newId: () => 'id' }, seal: {}, choices: { versioning: true } } as unknown as Ports
  const request = { interaction: 'history-type', tenant: 'a', type: 'Patient', parameters: [], preferences: {}, reading: {}, baseUrl: '' }
  return (await history(ports)(request as unknown as FhirRequest)).headers
}

it('X-History-Until is an instant, for the next _since', async () => {
  expect(await headersOf({ until: Date.UTC(2024, 1, 29, 12, 0, 0, 7) })).toEqual({ 'x-history-until': '2024-02-29T12:00:00.007Z' })
})

it('X-History-Until is absent for a complete history', async () => {
  expect(await headersOf({})).toBeUndefined()
})
