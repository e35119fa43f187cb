/** Copies blobs from an S3 bucket to buckets of others. https://docs.aws.amazon.com/AmazonS3/latest/userguide/CopyingObjectsMPUapi.html */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  NoSuchUpload,
  PutObjectCommand,
  type S3Client,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import type { BlobCopier, BucketKey, PartialCopy, SourceBlob } from '../../ports/blobs/blob-copier.ts'
import { checkBlobKey } from '../../ports/blobs/blob-key.ts'
import type { Blob } from '../../ports/blobs/blob-store.ts'

/**
 * Maximum bytes that one request copies. S3 accepts five times as many, but such a request takes minutes. A larger blob is copied in parts,
 * of which S3 accepts 10,000. So many parts of this size exceed the largest blob.
 */
const LARGEST = 1024 ** 3

export class S3BlobCopier implements BlobCopier {
  readonly #client: S3Client
  readonly #from: string
  readonly #largest: number

  /** `from`: bucket of the blobs. `largest`: maximum bytes that one request copies, at least 5 MiB. */
  constructor(client: S3Client, from: string, largest = LARGEST) {
    this.#client = client
    this.#from = from
    this.#largest = largest
  }

  async copy(blob: SourceBlob, to: BucketKey, parts?: PartialCopy): Promise<PartialCopy | undefined> {
    checkBlobKey(blob.key)
    if (parts === undefined) return blob.size > this.#largest ? this.#begin(blob, to) : this.#copyWhole(blob, to)
    try {
      return await this.#goOn(blob, to, parts)
    } catch (error) {
      if (error instanceof NoSuchUpload) return this.#begin(blob, to)
      throw error
    }
  }

  async put(to: BucketKey, { bytes, contentType }: Blob): Promise<void> {
    await this.#client.send(new PutObjectCommand({ ...placeOf(to), Body: bytes, ContentType: contentType }))
  }

  async abandon(to: BucketKey, { upload }: PartialCopy): Promise<void> {
    try {
      await this.#client.send(new AbortMultipartUploadCommand({ ...placeOf(to), UploadId: upload }))
    } catch (error) {
      if (!(error instanceof NoSuchUpload)) throw error
    }
  }

  async #copyWhole({ key }: SourceBlob, to: BucketKey): Promise<undefined> {
    await this.#client.send(new CopyObjectCommand({ ...placeOf(to), CopySource: this.#source(key) }))
  }

  async #begin({ contentType }: SourceBlob, to: BucketKey): Promise<PartialCopy> {
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand({ ...placeOf(to), ContentType: contentType }))
    return { upload: UploadId!, each: this.#largest, tags: [] }
  }

  async #goOn({ key, size }: SourceBlob, to: BucketKey, { upload, each, tags }: PartialCopy): Promise<PartialCopy | undefined> {
    const place = { ...placeOf(to), UploadId: upload }
    const from = tags.length * each
    if (from >= size) {
      const Parts = tags.map((ETag, i) => ({ PartNumber: i + 1, ETag }))
      await this.#client.send(new CompleteMultipartUploadCommand({ ...place, MultipartUpload: { Parts } }))
      return undefined
    }
    const CopySourceRange = `bytes=${from}-${Math.min(from + each, size) - 1}`
    const part = { ...place, PartNumber: tags.length + 1, CopySource: this.#source(key), CopySourceRange }
    const { CopyPartResult } = await this.#client.send(new UploadPartCopyCommand(part))
    return { upload, each, tags: [...tags, CopyPartResult!.ETag!] }
  }

  /** Returns the value of the header that names the source. Keys of blobs contain no character that must be escaped. */
  #source(key: string): string {
    return `${this.#from}/${key}`
  }
}

const placeOf = ({ bucket, key }: BucketKey) => ({ Bucket: bucket, Key: key })
