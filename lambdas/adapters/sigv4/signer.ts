/**
 * Signs requests with AWS credentials (Signature Version 4). API Gateway requires that for stages with IAM authorization.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHash, createHmac } from 'node:crypto'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { SignatureV4 } from '@smithy/signature-v4'

/** `url`: complete URL, exactly as it will be sent. */
export type SignableRequest = { readonly method: string; readonly url: string; readonly body?: Uint8Array }
export type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }

export type SignerOptions = {
  readonly region: string
  /** Name of the AWS service that receives the requests, for instance `execute-api`. */
  readonly service: string
  /** Returns the credentials. Default: from the environment, a profile, a role, … */
  readonly credentials?: () => Promise<Credentials>
}

/**
 * Creates a function that returns the headers to add to a request. AWS accepts them for five minutes. The function rejects if there are no
 * credentials.
 */
export function signer({ region, service, credentials = defaultProvider() }: SignerOptions) {
  const signing = new SignatureV4({ region, service, credentials, sha256: Sha256 })
  return async ({ method, url, body }: SignableRequest, signingDate = new Date()): Promise<Readonly<Record<string, string>>> => {
    const { protocol, hostname, host, pathname, searchParams } = new URL(url)
    const query = Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]))
    const { headers } = await signing.sign({ method, protocol, hostname, path: pathname, query, headers: { host }, body }, { signingDate })
    const { host: _, ...signed } = headers
    return signed
  }
}

/** SHA-256 in the interface that the AWS signer expects. */
class Sha256 {
  readonly #hash

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  /** Part of the interface, but never called: the signer creates a new hash for each text. */
  reset(): void {
    throw new Error('a hash is used once')
  }
}

const bytesOf = (data: string | ArrayBuffer | ArrayBufferView): Uint8Array =>
  typeof data === 'string'
    ? Buffer.from(data)
    : ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data)
