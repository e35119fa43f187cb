/**
 * Links to the files of exports as signed URLs of CloudFront, which answers nobody else there. KMS signs: no private key is ever here.
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/private-content-creating-signed-url-canned-policy.html
 */
import { createHash } from 'node:crypto'
import { KMSClient, SignCommand } from '@aws-sdk/client-kms'
import type { ExportFile, ExportUrlSigner } from '../../ports/blobs/file-links.ts'

export type CloudFrontLinkOptions = {
  /** Of the distribution, without a slash at the end. */
  readonly origin: string
  /** Path of a file below it, with a slash at its beginning: what CloudFront asks the bucket for. */
  readonly pathOf: (file: ExportFile) => string
  /** Of the key in KMS. */
  readonly keyId: string
  /** By which CloudFront knows its public half. */
  readonly keyPairId: string
  readonly client?: KMSClient
}

export class CloudFrontExportUrls implements ExportUrlSigner {
  readonly #links: CloudFrontLinkOptions
  readonly #client: KMSClient

  constructor(links: CloudFrontLinkOptions) {
    this.#links = links
    this.#client = links.client ?? new KMSClient()
  }

  async sign(file: ExportFile, expires: number): Promise<string> {
    const { origin, pathOf, keyId, keyPairId } = this.#links
    const user = file.user === undefined ? '' : `&user=${encodeURIComponent(file.user)}`
    const url = `${origin}${pathOf(file)}?client=${encodeURIComponent(file.client)}${user}`
    const seconds = Math.floor(expires / 1_000)
    const Message = createHash('sha256').update(cannedPolicy(url, seconds)).digest()
    const command = new SignCommand({ KeyId: keyId, Message, MessageType: 'DIGEST', SigningAlgorithm: 'RSASSA_PKCS1_V1_5_SHA_256' })
    const { Signature } = await this.#client.send(command)
    return `${url}&Expires=${seconds}&Signature=${inUrls(Signature!)}&Key-Pair-Id=${keyPairId}&Hash-Algorithm=SHA256`
  }
}

/** CloudFront puts the same together of what a request says, letter by letter. */
const cannedPolicy = (url: string, seconds: number): string =>
  JSON.stringify({ Statement: [{ Resource: url, Condition: { DateLessThan: { 'AWS:EpochTime': seconds } } }] })

const IN_URLS: Readonly<Record<string, string>> = { '+': '-', '=': '_', '/': '~' }

const inUrls = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('base64')
    .replace(/[+=/]/g, (character) => IN_URLS[character]!)
