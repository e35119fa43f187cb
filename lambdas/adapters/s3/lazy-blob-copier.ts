/** BlobCopier from an S3 bucket that loads the S3 client on first use, because few exports are copied to other buckets. */
import type { BlobCopier } from '../../ports/blobs/blob-copier.ts'

export function lazyS3BlobCopier(from: string): BlobCopier {
  let opened: Promise<BlobCopier> | undefined
  const open = (): Promise<BlobCopier> => {
    opened ??= import('./open-blob-store.ts').then(({ openS3BlobCopier }) => openS3BlobCopier(from))
    return opened
  }
  return {
    copy: async (...asked) => (await open()).copy(...asked),
    put: async (...asked) => (await open()).put(...asked),
    abandon: async (...asked) => (await open()).abandon(...asked),
  }
}
