/** Blobs of the cloud home, on the engine of S3_ENDPOINT (credentials S3_ACCESS_KEY, S3_SECRET_KEY). */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { it } from '@jest/globals'
import { S3BlobStore } from '../../lambdas/adapters/s3/blob-store.ts'
import { blobStoreContract } from '../contracts/blob-store.contract.ts'

const endpoint = process.env.S3_ENDPOINT

if (endpoint === undefined) it.skip('is not run: S3_ENDPOINT names no engine', () => undefined)
else
  blobStoreContract('S3', async () => {
    const credentials = {
      accessKeyId: process.env.S3_ACCESS_KEY ?? 'minioadmin',
      secretAccessKey: process.env.S3_SECRET_KEY ?? 'minioadmin',
    }
    const client = new S3Client({ endpoint, region: 'us-east-1', credentials, forcePathStyle: true })
    const Bucket = `fhir-${process.pid}-${Date.now()}`
    await client.send(new CreateBucketCommand({ Bucket }))
    return new S3BlobStore(client, Bucket)
  })
