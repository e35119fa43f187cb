/** Packages in an S3 bucket. The S3 client is loaded on first use. */
import type { AddedPackages } from '../../ports/definitions/package-store.ts'

export function lazyS3Packages(bucket: string, now: () => number, warn: (line: string) => void): AddedPackages {
  let opened: Promise<AddedPackages> | undefined
  return {
    async now() {
      opened ??= import('./open-blob-store.ts').then(({ openS3Packages }) => openS3Packages({ bucket, now, warn }))
      return (await opened).now()
    },
  }
}
