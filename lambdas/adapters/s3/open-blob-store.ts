/** Opens the blob store, the copier, the packages and the audit archive of a bucket, each with a client of its own. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { BlobCopier } from '../../ports/blobs/blob-copier.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { timed } from '../../ports/execution/call-times.ts'
import { S3AuditArchive, S3AuditArchiveReader } from './audit-archive.ts'
import { S3BlobCopier } from './blob-copier.ts'
import { S3BlobStore } from './blob-store.ts'
import { S3Packages, type S3PackagesOptions } from './packages.ts'

function s3Client(config: S3ClientConfig = {}): S3Client {
  const client = new S3Client({ forcePathStyle: true, ...config })
  client.middlewareStack.add((next) => (args) => timed('s3', () => next(args)), { step: 'initialize' })
  return client
}

export const openS3BlobStore = (bucket: string, config?: S3ClientConfig): BlobStore => new S3BlobStore(s3Client(config), bucket)

export const openS3BlobCopier = (from: string): BlobCopier => new S3BlobCopier(s3Client(), from)

export type S3PackagesLocation = Omit<S3PackagesOptions, 'client'> & { readonly region?: string }

export const openS3Packages = ({ region, ...options }: S3PackagesLocation): S3Packages =>
  new S3Packages({ ...options, client: s3Client(region === undefined ? {} : { region }) })

export const openS3AuditArchive = (bucket: string): S3AuditArchive => new S3AuditArchive(s3Client(), bucket)

/** Opens an audit archive for reading. `open` begins another pass; `tenant`: see S3AuditArchiveReader. */
export function openS3AuditReaders({ bucket, region }: { readonly bucket: string; readonly region: string }) {
  const client = s3Client({ region })
  return { open: (tenant?: string) => new S3AuditArchiveReader(client, bucket, tenant), close: () => client.destroy() }
}
