/** The store of a bucket, with a client of its own. */
import { S3Client } from '@aws-sdk/client-s3'
import type { BlobStore } from '../../ports/blob-store.ts'
import { S3BlobStore } from './blob-store.ts'

export const openS3BlobStore = (bucket: string): BlobStore => new S3BlobStore(new S3Client({ forcePathStyle: true }), bucket)
