/** The copier of the tests fulfills the port. */
import { blobCopierContract } from '../../contracts/blob-copier.contract.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryCopier } from '../../fixtures/memory/copier.ts'

blobCopierContract('memory', async () => {
  const blobs = new MemoryBlobs()
  const copier = new MemoryCopier(blobs, 10, ['lake'])
  return {
    ...{ blobs, copiers: [copier, copier], each: 10, bucket: 'lake' },
    read: async ({ bucket, key }) => copier.copies.get(`${bucket}/${key}`),
    close: async () => undefined,
  }
})
