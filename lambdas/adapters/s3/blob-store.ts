/** BlobStore in an S3 bucket. https://docs.aws.amazon.com/AmazonS3/latest/API/ */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  NoSuchKey,
  NoSuchUpload,
  NotFound,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { checkBlobKey } from '../../ports/blobs/blob-key.ts'
import type { Blob, BlobInfo, BlobParts, BlobStore } from '../../ports/blobs/blob-store.ts'

const MOST_PARTS = 10_000

export class S3BlobStore implements BlobStore {
  readonly #client: S3Client
  readonly #bucket: string

  constructor(client: S3Client, bucket: string) {
    this.#client = client
    this.#bucket = bucket
  }

  async put(key: string, { bytes, contentType }: Blob): Promise<void> {
    checkBlobKey(key)
    await this.#client.send(new PutObjectCommand({ ...this.#place(key), Body: bytes, ...headersOf(key, contentType) }))
  }

  async get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined> {
    checkBlobKey(key)
    // An empty range cannot be requested: S3 ignores `bytes=4-3` and returns the whole object.
    if (range !== undefined && range[0] >= range[1]) return this.#nothingOf(key)
    const Range = range === undefined ? {} : { Range: `bytes=${range[0]}-${range[1] - 1}` }
    try {
      const { Body, ContentType } = await this.#client.send(new GetObjectCommand({ ...this.#place(key), ...Range }))
      return { bytes: await Body!.transformToByteArray(), contentType: ContentType! }
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined
      if ((error as Error).name === 'InvalidRange') return this.#nothingOf(key)
      throw error
    }
  }

  async remove(key: string): Promise<void> {
    checkBlobKey(key)
    await this.#client.send(new DeleteObjectCommand(this.#place(key)))
  }

  async *list(prefix: string, after?: string): AsyncGenerator<BlobInfo> {
    const input = { Bucket: this.#bucket, Prefix: prefix, StartAfter: after || undefined }
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const page = await this.#client.send(new ListObjectsV2Command({ ...input, ContinuationToken: token }))
      for (const { Key, Size, LastModified } of page.Contents ?? []) yield { key: Key!, size: Size!, written: LastModified!.getTime() }
      token = page.NextContinuationToken
    }
  }

  async openParts(key: string, contentType: string, id?: string): Promise<BlobParts> {
    checkBlobKey(key)
    const place = this.#place(key)
    if (id !== undefined) return partsOf(this.#client, { ...place, UploadId: id })
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand({ ...place, ...headersOf(key, contentType) }))
    return partsOf(this.#client, { ...place, UploadId: UploadId! })
  }

  async *unfinished(prefix: string): AsyncGenerator<string> {
    let last: string | undefined
    for await (const { Key } of this.#uploads(prefix)) {
      if (Key !== last) yield Key
      last = Key
    }
  }

  async abortParts(prefix: string): Promise<void> {
    for await (const upload of this.#uploads(prefix)) await partsOf(this.#client, upload).abort()
  }

  /** Yields the unfinished multipart uploads in the order of their keys. */
  async *#uploads(prefix: string): AsyncGenerator<Upload> {
    let after: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | undefined = {}
    while (after !== undefined) {
      const page: ListMultipartUploadsCommandOutput = await this.#client.send(
        new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: prefix, ...after }),
      )
      for (const { Key, UploadId } of page.Uploads ?? []) yield { ...this.#place(Key!), UploadId: UploadId! }
      after = page.IsTruncated ? { KeyMarker: page.NextKeyMarker!, UploadIdMarker: page.NextUploadIdMarker! } : undefined
    }
  }

  async #nothingOf(key: string): Promise<Blob | undefined> {
    try {
      const { ContentType } = await this.#client.send(new HeadObjectCommand(this.#place(key)))
      return { bytes: new Uint8Array(), contentType: ContentType! }
    } catch (error) {
      if (error instanceof NotFound) return undefined
      throw error
    }
  }

  #place(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: key }
  }
}

/**
 * Returns the headers that S3 sends with a download by link. The file name is the last segment of the key.
 * https://www.rfc-editor.org/rfc/rfc6266
 */
const headersOf = (key: string, contentType: string) => ({
  ContentType: contentType,
  ContentDisposition: `attachment; filename="${key.slice(key.lastIndexOf('/') + 1)}"`,
})

type Upload = { readonly Bucket: string; readonly Key: string; readonly UploadId: string }

const partsOf = (client: S3Client, upload: Upload): BlobParts => ({
  id: upload.UploadId,
  async writePart(n, bytes) {
    if (!Number.isInteger(n) || n < 1 || n > MOST_PARTS) throw new RangeError(`part ${n} is not one of 1 to ${MOST_PARTS}`)
    const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber: n, Body: bytes }))
    return ETag!
  },
  async complete(parts) {
    const Parts = parts.toSorted((a, b) => a.n - b.n).map(({ n, tag }) => ({ PartNumber: n, ETag: tag }))
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }))
  },
  async abort() {
    try {
      await client.send(new AbortMultipartUploadCommand(upload))
    } catch (error) {
      if (!(error instanceof NoSuchUpload)) throw error
    }
  },
})
