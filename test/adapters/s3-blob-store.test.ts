/** Blobs of the cloud home, on the engine of S3_ENDPOINT (credentials S3_ACCESS_KEY, S3_SECRET_KEY). */
import { randomUUID } from 'node:crypto'
import { CreateBucketCommand, DeleteBucketCommand, DeleteObjectsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { describe, it } from '@jest/globals'
import { S3BlobStore } from '../../lambdas/adapters/s3/blob-store.ts'
import { blobStoreContract } from '../contracts/blob-store.contract.ts'

const endpoint = process.env.S3_ENDPOINT

if (endpoint === undefined) {
  const reason = 'S3_ENDPOINT is not set; `node test/engines/run.ts minio -- npm test -- test/adapters/s3` starts one'
  process.stderr.write(`The S3 blob store is not tested: ${reason}\n`)
  describe('S3', () => {
    it.skip(`is not tested: ${reason}`, () => {})
  })
} else blobStoreContract('S3', () => bucketOn(endpoint))

async function bucketOn(endpoint: string) {
  const credentials = {
    accessKeyId: process.env.S3_ACCESS_KEY ?? 'minioadmin',
    secretAccessKey: process.env.S3_SECRET_KEY ?? 'minioadmin',
  }
  const client = new S3Client({ endpoint, region: 'us-east-1', credentials, forcePathStyle: true })
  const Bucket = `fhir-${randomUUID()}`
  await client.send(new CreateBucketCommand({ Bucket }))
  const empty = async () => {
    for (;;) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }))
      if (Contents.length === 0) return
      await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: Contents.map(({ Key }) => ({ Key })) } }))
    }
  }
  const close = async () => {
    await empty()
    await client.send(new DeleteBucketCommand({ Bucket }))
    client.destroy()
  }
  return { store: new S3BlobStore(client, Bucket), close }
}
