/** BlobStore in an S3 bucket that loads the S3 client on first use, because few versions are large enough to need it. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'

export function lazyS3BlobStore(bucket: string): BlobStore {
  let opened: Promise<BlobStore> | undefined
  const open = (): Promise<BlobStore> => {
    opened ??= import('./open-blob-store.ts').then(({ openS3BlobStore }) => openS3BlobStore(bucket))
    return opened
  }
  return {
    put: async (key, blob) => (await open()).put(key, blob),
    get: async (key, range) => (await open()).get(key, range),
    remove: async (key) => (await open()).remove(key),
    async *list(prefix, after) {
      yield* (await open()).list(prefix, after)
    },
    openParts: async (key, contentType, id) => (await open()).openParts(key, contentType, id),
    async *unfinished(prefix) {
      yield* (await open()).unfinished(prefix)
    },
    abortParts: async (prefix) => (await open()).abortParts(prefix),
  }
}
