/** The S3 blob store, on the engine of S3_ENDPOINT (credentials S3_ACCESS_KEY, S3_SECRET_KEY). */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  NoSuchUpload,
  S3Client,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { describe, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { S3BlobCopier } from '../../../lambdas/adapters/s3/blob-copier.ts'
import { S3BlobStore } from '../../../lambdas/adapters/s3/blob-store.ts'
import { blobCopierContract } from '../../contracts/blob-copier.contract.ts'
import { blobStoreContract } from '../../contracts/blob-store.contract.ts'
import { createBucketOn } from '../../fixtures/s3-engine.ts'

const endpoint = process.env.S3_ENDPOINT

if (endpoint === undefined) {
  const reason = 'S3_ENDPOINT is not set; `node test/engines/run.ts minio -- npm test -- test/adapters/s3` starts one'
  process.stderr.write(`The S3 blob store is not tested: ${reason}\n`)
  describe('S3', () => {
    it.skip(`is not tested: ${reason}`, () => {})
  })
} else {
  blobStoreContract('S3', () => bucketWithStore(endpoint))
  blobCopierContract('S3', async () => {
    const [from, to] = [await bucketWithStore(endpoint), await bucketWithStore(endpoint)]
    const copier = () => new S3BlobCopier(from.client, from.name, 5 * 1024 * 1024)
    return {
      ...{ blobs: from.store, copiers: [copier(), copier()], each: 5 * 1024 * 1024, bucket: to.name },
      read: ({ key }) => to.store.get(key),
      close: async () => {
        for (const each of [from, to]) await each.close()
      },
    }
  })
}

async function bucketWithStore(endpoint: string) {
  const bucket = await createBucketOn(endpoint)
  // MinIO lists unfinished uploads by exact key only. The tests below list them by prefix, page by page.
  return { ...bucket, store: new S3BlobStore(bucket.client, bucket.name), listsUploads: false }
}

it('An object is downloaded under the last segment of its key', async () => {
  const client = mockClient(new S3Client({ region: 'us-east-1' }))
  client.on(CreateMultipartUploadCommand).resolves({ UploadId: 'u' })
  const store = new S3BlobStore(client as unknown as S3Client, 'b')
  await store.put('exports/1/files/deleted.ndjson', { bytes: new Uint8Array(), contentType: 'application/fhir+ndjson' })
  await store.openParts('exports/1/files/Patient.ndjson', 'application/fhir+ndjson')
  expect(client.calls().map(({ args: [{ input }] }) => (input as { readonly ContentDisposition?: string }).ContentDisposition)).toEqual([
    'attachment; filename="deleted.ndjson"',
    'attachment; filename="Patient.ndjson"',
  ])
})

it('A list continues with the next page', async () => {
  const client = mockClient(new S3Client({ region: 'us-east-1' }))
  const asked = { Bucket: 'b', Prefix: 'exports/1/' }
  const object = (Key: string) => ({ Key, Size: 1, LastModified: new Date(0) })
  client
    .on(ListObjectsV2Command, asked)
    .resolves({ IsTruncated: true, NextContinuationToken: 't', Contents: [object('exports/1/a')] })
    .on(ListObjectsV2Command, { ...asked, ContinuationToken: 't' })
    .resolves({ Contents: [object('exports/1/b')] })
  const found: string[] = []
  for await (const { key } of new S3BlobStore(client as unknown as S3Client, 'b').list('exports/1/')) found.push(key)
  expect(found).toEqual(['exports/1/a', 'exports/1/b'])
})

describe('Unfinished uploads', () => {
  it('are found and aborted page by page, also if another caller was faster', async () => {
    const client = mockClient(new S3Client({ region: 'us-east-1' }))
    const asked = { Bucket: 'b', Prefix: 'exports/1/' }
    client
      .on(ListMultipartUploadsCommand, asked, true)
      .resolves({ IsTruncated: true, NextKeyMarker: 'exports/1/b', NextUploadIdMarker: 'u2', Uploads: [{ Key: 'exports/1/a', UploadId: 'u1' }, { Key: 'exports/1/b', UploadId: 'u2' }] }) // biome-ignore format: one line
      .on(ListMultipartUploadsCommand, { ...asked, KeyMarker: 'exports/1/b', UploadIdMarker: 'u2' }, true)
      .resolves({ IsTruncated: false, Uploads: [{ Key: 'exports/1/b', UploadId: 'u3' }] })
      .on(AbortMultipartUploadCommand)
      .resolves({})
      .on(AbortMultipartUploadCommand, { UploadId: 'u1' })
      .rejects(new NoSuchUpload({ message: '', $metadata: {} }))
    const store = new S3BlobStore(client as unknown as S3Client, 'b')
    const found: string[] = []
    for await (const key of store.unfinished('exports/1/')) found.push(key)
    expect(found).toEqual(['exports/1/a', 'exports/1/b'])
    await store.abortParts('exports/1/')
    expect(client.commandCalls(AbortMultipartUploadCommand).map(({ args }) => args[0].input)).toEqual([
      { Bucket: 'b', Key: 'exports/1/a', UploadId: 'u1' },
      { Bucket: 'b', Key: 'exports/1/b', UploadId: 'u2' },
      { Bucket: 'b', Key: 'exports/1/b', UploadId: 'u3' },
    ])
  })
})

describe('A copy into a foreign bucket', () => {
  const GiB = 1024 ** 3
  const to = { bucket: 'lake', key: 'north/nightly/1/Patient.ndjson' }
  const place = { Bucket: 'lake', Key: to.key }
  const blob = (size: number) => ({ key: 'exports/1/files/Patient.ndjson', size, contentType: 'application/fhir+ndjson' })

  it('is one call up to 1 GiB, and else consists of parts of 1 GiB', async () => {
    const client = mockClient(new S3Client({ region: 'us-east-1' }))
    client
      .on(CopyObjectCommand)
      .resolves({})
      .on(CreateMultipartUploadCommand, { ...place, ContentType: 'application/fhir+ndjson' }, true)
      .resolves({ UploadId: 'u' })
      .on(UploadPartCopyCommand)
      .callsFake(async ({ PartNumber }) => ({ CopyPartResult: { ETag: `t${PartNumber}` } }))
      .on(CompleteMultipartUploadCommand)
      .resolves({})
    const copier = new S3BlobCopier(client as unknown as S3Client, 'own')
    const source = { CopySource: 'own/exports/1/files/Patient.ndjson' }
    expect(await copier.copy(blob(GiB), to)).toBeUndefined()
    expect(client.commandCalls(CopyObjectCommand).map(({ args }) => args[0].input)).toEqual([{ ...place, ...source }])
    let next = await copier.copy(blob(5 * GiB + 1), to)
    while (next !== undefined) next = await copier.copy(blob(5 * GiB + 1), to, next)
    expect(client.commandCalls(CopyObjectCommand)).toHaveLength(1)
    expect(client.commandCalls(UploadPartCopyCommand).map(({ args }) => args[0].input)).toEqual(
      Array.from({ length: 6 }, (_, i) => ({
        ...{ ...place, ...source, UploadId: 'u', PartNumber: i + 1 },
        CopySourceRange: `bytes=${i * GiB}-${i === 5 ? 5 * GiB : (i + 1) * GiB - 1}`,
      })),
    )
    expect(client.commandCalls(CompleteMultipartUploadCommand).map(({ args }) => args[0].input.MultipartUpload!.Parts)).toEqual([
      Array.from({ length: 6 }, (_, i) => ({ PartNumber: i + 1, ETag: `t${i + 1}` })),
    ])
  })
})
