/** A history that cannot tell yet what is newest says until when it tells everything. */
import { expect, it } from '@jest/globals'
import type { FhirRequest, Ports } from '../../lambdas/interactions/interaction.ts'
import { history } from '../../lambdas/interactions/rest/history.ts'
import type { HistoryPage } from '../../lambdas/ports/store/resource-store.ts'
import { patient } from '../fixtures/resources.ts'
import { patientKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

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

it('X-History-Until of a later page is not after that of an earlier page', async () => {
  const versions = ['a', 'b', 'c'].map((id) => versionOf(writeOf(patientKeyOf(id), { body: patient(id) })))
  const ends = [5_000, 9_000, 3_000]
  const resources = () => ({ history: async () => ({ versions: [versions[3 - ends.length]!], more: true, until: ends.shift()! }) })
  const seal = { seal: (text: string) => text, open: (text: string) => ({ text }) }
  const ports = { resources, clock: { now: () => 0, newId: () => 'id' }, seal, choices: { versioning: true } } as unknown as Ports
  const shown: (string | undefined)[] = []
  let cursor: string | undefined
  for (let page = 0; page < 3; page++) {
    const parameters = [['_count', '1'], ...(cursor === undefined ? [] : [['_cursor', cursor]])]
    const request = {
      interaction: 'history-type',
      tenant: 'a',
      type: 'Patient',
      parameters,
      preferences: {},
      reading: {},
      baseUrl: 'http://a',
    }
    const { headers, body } = await history(ports)(request as unknown as FhirRequest)
    shown.push(headers?.['x-history-until'])
    const { link } = body as unknown as { readonly link: readonly { readonly relation: string; readonly url: string }[] }
    cursor = new URL(link.find(({ relation }) => relation === 'next')!.url).searchParams.get('_cursor')!
  }
  expect(shown).toEqual(['1970-01-01T00:00:05.000Z', '1970-01-01T00:00:05.000Z', '1970-01-01T00:00:03.000Z'])
})
