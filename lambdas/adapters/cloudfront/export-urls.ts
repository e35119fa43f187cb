/**
 * Creates links to export files as signed CloudFront URLs. CloudFront rejects requests without a valid signature. KMS signs, so the private
 * key never leaves KMS.
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/private-content-creating-signed-url-canned-policy.html
 */
import { createHash } from 'node:crypto'
import { KMSClient, SignCommand } from '@aws-sdk/client-kms'
import type { ExportFile, ExportUrlSigner } from '../../ports/blobs/file-links.ts'
import { timed } from '../../ports/execution/call-times.ts'

export type CloudFrontLinkOptions = {
  /** Scheme and host of the CloudFront distribution, without a slash at the end. */
  readonly origin: string
  /** Returns the URL path of a file, with a slash at the start. CloudFront requests the same path from the bucket. */
  readonly pathOf: (file: ExportFile) => string
  /** Id of the signing key in KMS. */
  readonly keyId: string
  /** Id of the public key of that key pair in CloudFront. */
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
    const { Signature } = await timed('kms', () => this.#client.send(command))
    return `${url}&Expires=${seconds}&Signature=${inUrls(Signature!)}&Key-Pair-Id=${keyPairId}&Hash-Algorithm=SHA256`
  }
}

/**
 * Returns the policy to sign. CloudFront builds the same text from a request and verifies the signature against it, so every character
 * matters.
 */
const cannedPolicy = (url: string, seconds: number): string =>
  JSON.stringify({ Statement: [{ Resource: url, Condition: { DateLessThan: { 'AWS:EpochTime': seconds } } }] })

const IN_URLS: Readonly<Record<string, string>> = { '+': '-', '=': '_', '/': '~' }

const inUrls = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('base64')
    .replace(/[+=/]/g, (character) => IN_URLS[character]!)
