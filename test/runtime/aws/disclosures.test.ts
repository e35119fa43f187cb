/** Records of disclosures on a stage with an archive. */
import { describe, expect, it } from '@jest/globals'
import { readDisclosures, writeDisclosures } from '../../../lambdas/partners/disclosures/disclosures.ts'
import { withArchive } from '../../../lambdas/runtime/aws/ports.ts'
import { collect } from '../../fixtures/collect.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'

const REQUEST = { kind: 'match', at: 0, tenant: 'north', job: 'job-1', partner: 'payer-1', grounds: [] } as const
const MEMBERS = [{ patient: 'Patient/1', outcome: 'matched' }]

describe('The record of a disclosure', () => {
  it('is in the archive and in the bucket of the stage', async () => {
    const [store, archive] = [new MemoryBlobs(), new MemoryBlobs()]
    await writeDisclosures(withArchive(store, archive), REQUEST, MEMBERS)
    for (const blobs of [store, archive]) expect(await collect(readDisclosures(blobs, {}))).toEqual([{ ...REQUEST, ...MEMBERS[0] }])
  })

  it('is not stored if the archive cannot store it, so the partner gets no answer', async () => {
    const store = new MemoryBlobs()
    const archive = { put: () => Promise.reject(new Error('The bucket is locked')) }
    await expect(writeDisclosures(withArchive(store, archive), REQUEST, MEMBERS)).rejects.toThrow('The bucket is locked')
    expect(await collect(readDisclosures(store, {}))).toEqual([])
  })
})
