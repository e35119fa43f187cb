/** Settings of public read. */
import { expect } from '@jest/globals'
import { type SettingTrial, withSettings } from './setting-server.ts'

const LOCATIONS = { FHIR_PUBLIC_READ: 'system/Location.rs' }

/** Status of a read and a search without a token. */
const statusTrial =
  (read: number, search: number) =>
  (value: string): Promise<void> =>
    withSettings({ FHIR_PUBLIC_READ: value }, async ({ put, as }) => {
      await put('/Location/a', { resourceType: 'Location', id: 'a' })
      const { get } = as()
      expect([(await get('/Location/a')).status, (await get('/Location')).status]).toEqual([read, search])
    })

export const publicReadTrials: readonly SettingTrial[] = [
  ['', 'nothing is public', statusTrial(401, 401)],
  ['system/Location.r', 'a location is read, and not searched', statusTrial(200, 401)],
  ['system/Location.rs system/Organization.s', 'locations are read and searched', statusTrial(200, 200)],
]

const tenantTrial = (value: string, found: readonly string[]): Promise<void> =>
  withSettings({ ...LOCATIONS, FHIR_TENANCY: 'on', FHIR_PUBLIC_READ_TENANT: value }, async ({ put, as }) => {
    for (const id of ['north', 'south']) await put(`/Location/${id}`, { resourceType: 'Location', id }, { 'x-tenant-id': id })
    const { body } = await as().get('/Location')
    expect((body.entry ?? []).map(({ resource }: { resource: { id: string } }) => resource.id)).toEqual(found)
  })

export const publicTenantTrials: readonly SettingTrial[] = [
  ['north', 'the data of this tenant is public', (value) => tenantTrial(value, ['north'])],
  ['south', 'the data of this tenant is public', (value) => tenantTrial(value, ['south'])],
]

/** Statuses of requests that arrive at once, with small limits of the other settings. */
const rateTrial =
  (variable: string, refused: boolean) =>
  (value: string): Promise<void> => {
    const limits = { FHIR_PUBLIC_READ_RATE: '1', FHIR_PUBLIC_READ_BURST: '100', FHIR_PUBLIC_READ_TOTAL: '100' }
    return withSettings({ ...LOCATIONS, ...limits, [variable]: value }, async ({ as }) => {
      const asked = await Promise.all(Array.from({ length: 40 }, () => as().get('/Location')))
      expect(asked.some(({ status }) => status === 429)).toBe(refused)
    })
  }

export const publicRateTrials: readonly SettingTrial[] = [
  ['1', 'a rate of one per second leaves the burst', rateTrial('FHIR_PUBLIC_READ_RATE', false)],
]

export const publicBurstTrials: readonly SettingTrial[] = [
  ['2', 'most of 40 requests of one address at once are 429', rateTrial('FHIR_PUBLIC_READ_BURST', true)],
  ['100', 'none of 40 requests of one address at once is 429', rateTrial('FHIR_PUBLIC_READ_BURST', false)],
]

export const publicTotalTrials: readonly SettingTrial[] = [
  ['2', 'most of 40 requests at once are 429', rateTrial('FHIR_PUBLIC_READ_TOTAL', true)],
]
