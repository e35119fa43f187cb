/** Records of disclosures: their contents and their lookup. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import {
  type DisclosureFilter,
  type PartnerRequest,
  readDisclosures,
  removeDisclosuresBefore,
  writeDisclosures,
} from '../../../lambdas/partners/disclosures/disclosures.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { collect } from '../../fixtures/collect.ts'

const NOON = Date.UTC(2026, 5, 15, 12)
const DAY = 24 * 60 * 60 * 1_000
const requestOf = (more: Partial<PartnerRequest> = {}): PartnerRequest => ({
  ...{ kind: 'export', at: NOON, tenant: 'north', job: 'job1', partner: 'payer', grounds: ['Group/g'] },
  ...{ exportType: 'type', since: 1, types: { Patient: 2 }, ...more },
})
const exported = (...ids: readonly string[]) => ids.map((id) => ({ patient: `Patient/${id}`, outcome: 'exported' }))

describe('the record of disclosures', () => {
  let blobs: FilesystemBlobStore
  beforeEach(async () => {
    blobs = new FilesystemBlobStore(newFolder())
    await writeDisclosures(blobs, requestOf(), [...exported('1'), { patient: 'Patient/2', outcome: 'opted out' }])
    await writeDisclosures(blobs, requestOf({ kind: 'match', job: 'job2', tenant: 'south', partner: 'other', at: NOON + DAY }), [
      { outcome: 'no match' },
    ])
    await writeDisclosures(blobs, requestOf({ job: 'job3' }), exported('1', '11'))
  })
  const found = async (filter: DisclosureFilter) =>
    (await collect(readDisclosures(blobs, filter))).map(({ job, patient = '-' }) => `${job} ${patient}`)

  it('has one line for each member, with the facts of its request', async () => {
    expect(await collect(readDisclosures(blobs, { job: 'job1' }))).toEqual([
      { ...requestOf(), patient: 'Patient/1', outcome: 'exported' },
      { ...requestOf(), patient: 'Patient/2', outcome: 'opted out' },
    ])
  })

  it.each<[string, DisclosureFilter, readonly string[]]>([
    ['partner and patient', { partner: 'payer', patient: '1' }, ['job1 Patient/1', 'job3 Patient/1']],
    ['tenant', { tenant: 'south' }, ['job2 -']],
    ['partner', { partner: 'other' }, ['job2 -']],
    ['job', { job: 'job3' }, ['job3 Patient/1', 'job3 Patient/11']],
    ['start', { from: NOON + 1 }, ['job2 -']],
    ['start, which is included', { from: NOON + DAY }, ['job2 -']],
    ['end, which is excluded', { to: NOON }, []],
    ['period', { from: NOON, to: NOON + 1, patient: '2' }, ['job1 Patient/2']],
  ])('is found by %s', async (_, filter, expected) => {
    expect(await found(filter)).toEqual(expected)
  })

  it('is replaced if its request is repeated', async () => {
    await writeDisclosures(blobs, requestOf({ job: 'job3' }), exported('12'))
    expect(await found({ job: 'job3' })).toEqual(['job3 Patient/12'])
  })

  it('is found by tenant and time, whatever the id of its job', async () => {
    await writeDisclosures(blobs, requestOf({ job: 'a-later-job', at: NOON + 1 }), exported('1'))
    await writeDisclosures(blobs, requestOf({ job: 'z-earlier-job', at: NOON - 1 }), exported('1'))
    expect(await found({ patient: '1' })).toEqual(['z-earlier-job Patient/1', 'job1 Patient/1', 'job3 Patient/1', 'a-later-job Patient/1'])
  })

  it('is found if an earlier release stored it', async () => {
    const lines = [requestOf({ job: 'earlier' }), ...exported('1')].map((line) => `${JSON.stringify(line)}\n`).join('')
    const day = new Date(NOON).toISOString().slice(0, 10)
    await blobs.put(`disclosures/north/${day}/earlier.ndjson`, { bytes: Buffer.from(lines), contentType: 'application/x-ndjson' })
    expect(await found({ job: 'earlier' })).toEqual(['earlier Patient/1'])
  })

  it('is removed with its day', async () => {
    await removeDisclosuresBefore(blobs, NOON)
    expect(await found({})).toHaveLength(5)
    await removeDisclosuresBefore(blobs, NOON + DAY)
    expect(await found({})).toEqual(['job2 -'])
    await removeDisclosuresBefore(blobs, Number.NEGATIVE_INFINITY)
    expect(await found({})).toEqual(['job2 -'])
  })
})
