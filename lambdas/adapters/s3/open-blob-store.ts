/** Opens the blob store, the copier and the packages of a bucket, each with a client of its own. */
import { S3Client } from '@aws-sdk/client-s3'
import type { BlobCopier } from '../../ports/blobs/blob-copier.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { S3BlobCopier } from './blob-copier.ts'
import { S3BlobStore } from './blob-store.ts'
import { S3Packages, type S3PackagesOptions } from './packages.ts'

export const openS3BlobStore = (bucket: string): BlobStore => new S3BlobStore(new S3Client({ forcePathStyle: true }), bucket)

export const openS3BlobCopier = (from: string): BlobCopier => new S3BlobCopier(new S3Client({ forcePathStyle: true }), from)

export type S3PackagesLocation = Omit<S3PackagesOptions, 'client'> & { readonly region?: string }

export const openS3Packages = ({ region, ...options }: S3PackagesLocation): S3Packages =>
  new S3Packages({ ...options, client: new S3Client({ forcePathStyle: true, ...(region === undefined ? {} : { region }) }) })
