/** BlobStore on S3. https://docs.aws.amazon.com/AmazonS3/latest/API/ */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { Blob, BlobInfo, BlobParts, BlobStore } from '../../ports/blob-store.ts'
import { checkBlobKey } from '../../ports/check-blob-key.ts'

export class S3BlobStore implements BlobStore {
  readonly #client: S3Client
  readonly #bucket: string

  constructor(client: S3Client, bucket: string) {
    this.#client = client
    this.#bucket = bucket
  }

  async put(key: string, { bytes, contentType }: Blob): Promise<void> {
    checkBlobKey(key)
    await this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key: key, Body: bytes, ContentType: contentType }))
  }

  async get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined> {
    checkBlobKey(key)
    const isNothing = range !== undefined && range[0] >= range[1]
    try {
      const Range = range === undefined || isNothing ? {} : { Range: `bytes=${range[0]}-${range[1] - 1}` }
      const { Body, ContentType } = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key, ...Range }))
      const bytes = await Body!.transformToByteArray()
      return { bytes: isNothing ? new Uint8Array() : bytes, contentType: ContentType ?? 'application/octet-stream' }
    } catch (error) {
      if ((error as Error).name === 'NoSuchKey') return undefined
      // The range begins beyond the end: there is nothing of it.
      if ((error as Error).name === 'InvalidRange')
        return { bytes: new Uint8Array(), contentType: (await this.get(key, [0, 0]))!.contentType }
      throw error
    }
  }

  async remove(key: string): Promise<void> {
    checkBlobKey(key)
    await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }))
  }

  async *list(prefix: string): AsyncIterable<BlobInfo> {
    let ContinuationToken: string | undefined
    do {
      const page = await this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: prefix, ContinuationToken }))
      for (const { Key, Size } of page.Contents ?? []) yield { key: Key!, size: Size! }
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
  }

  async openParts(key: string, contentType: string, id?: string): Promise<BlobParts> {
    checkBlobKey(key)
    const created =
      id ??
      (await this.#client.send(new CreateMultipartUploadCommand({ Bucket: this.#bucket, Key: key, ContentType: contentType }))).UploadId!
    return new S3BlobParts(this.#client, { Bucket: this.#bucket, Key: key, UploadId: created })
  }
}

type Upload = { readonly Bucket: string; readonly Key: string; readonly UploadId: string }

class S3BlobParts implements BlobParts {
  readonly id: string
  readonly #client: S3Client
  readonly #upload: Upload

  constructor(client: S3Client, upload: Upload) {
    this.id = upload.UploadId
    this.#client = client
    this.#upload = upload
  }

  async writePart(n: number, bytes: Uint8Array): Promise<string> {
    if (!Number.isInteger(n) || n < 1 || n > 10_000) throw new RangeError('a part has a number from 1 to 10,000')
    const { ETag } = await this.#client.send(new UploadPartCommand({ ...this.#upload, PartNumber: n, Body: bytes }))
    return ETag!
  }

  async complete(parts: readonly { readonly n: number; readonly tag: string }[]): Promise<void> {
    const Parts = parts.toSorted((a, b) => a.n - b.n).map(({ n, tag }) => ({ PartNumber: n, ETag: tag }))
    await this.#client.send(new CompleteMultipartUploadCommand({ ...this.#upload, MultipartUpload: { Parts } }))
  }

  async abort(): Promise<void> {
    try {
      await this.#client.send(new AbortMultipartUploadCommand(this.#upload))
    } catch (error) {
      if ((error as Error).name !== 'NoSuchUpload') throw error
    }
  }
}
