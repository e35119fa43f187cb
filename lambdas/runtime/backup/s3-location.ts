/** Backups in S3, addressed as `s3://BUCKET/PREFIX`. */
import { openS3BlobStore } from '../../adapters/s3/open-blob-store.ts'
import { checkBlobKey } from '../../ports/blobs/blob-key.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { type BackupStore, MANIFEST_KEY } from './backup-format.ts'

const SCHEME = 's3://'

export const isS3Location = (path: string): boolean => path.startsWith(SCHEME)

/** A command may run for hours, so that a request is repeated for longer than by default. */
const MAX_ATTEMPTS = 10

/** Opens the objects below an address. `region`: region of the requests; a bucket of another region is found. */
export function openS3Location(address: string, region?: string): BackupStore {
  const [bucket = '', ...rest] = !isS3Location(address) ? [] : address.slice(SCHEME.length).replace(/\/+$/, '').split('/')
  if (!/^[a-z0-9][a-z0-9.-]+$/.test(bucket)) throw new Error(`${address} names no bucket: s3://BUCKET/PREFIX`)
  const prefix = rest.map((segment) => `${segment}/`).join('')
  try {
    checkBlobKey(prefix + MANIFEST_KEY)
  } catch (error) {
    throw new Error(`${address} cannot be used: ${(error as Error).message}`, { cause: error })
  }
  const blobs = openS3BlobStore(bucket, {
    maxAttempts: MAX_ATTEMPTS,
    followRegionRedirects: true,
    ...(region === undefined ? {} : { region }),
  })
  const location = `${SCHEME}${[bucket, ...rest].join('/')}`
  return below(namingErrors(blobs, location), prefix, location)
}

/** Adds the address to the errors of S3, which may not even name the bucket. */
function namingErrors(blobs: Pick<BlobStore, 'put' | 'get' | 'list'>, location: string): typeof blobs {
  const named = (cause: Error): never => {
    throw new Error(`${location}: ${cause.message}${cause.name === 'Error' ? '' : ` (${cause.name})`}`, { cause })
  }
  return {
    put: (key, blob) => blobs.put(key, blob).catch(named),
    get: (key, range) => blobs.get(key, range).catch(named),
    async *list(prefix, after) {
      try {
        yield* blobs.list(prefix, after)
      } catch (error) {
        named(error as Error)
      }
    },
  }
}

/** Returns the objects of the blob store whose keys begin with the prefix, without it. */
export const below = (blobs: Pick<BlobStore, 'put' | 'get' | 'list'>, prefix: string, location: string): BackupStore => ({
  location,
  put: (key, blob) => blobs.put(prefix + key, blob),
  get: (key, range) => blobs.get(prefix + key, range),
  async *list(start, after = '') {
    for await (const each of blobs.list(prefix + start, after === '' ? '' : prefix + after))
      yield { ...each, key: each.key.slice(prefix.length) }
  },
})
