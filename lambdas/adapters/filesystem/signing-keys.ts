/**
 * SigningKeys as files of a folder, one per key and named by its kid. The files are private to their owner, and each exists completely or
 * not at all.
 */
import { createHash, createPrivateKey, generateKeyPair, type JsonWebKey, type KeyObject, sign } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compareKeyAges, type PublicKey, type SigningKey, type SigningKeys } from '../../ports/security/signing-keys.ts'
import { filesIn, isMissing, makeFolder, removeDurably, replaceDurably, unfinishedFilesIn } from './durable-file.ts'

type KeptKey = SigningKey & { readonly secret: JsonWebKey }

const BITS = 2_048
const NAME = /^([\w-]{43})\.json$/
/** Age in milliseconds from which an unfinished file is abandoned and removed. Writing a file takes less. */
const ABANDONED = 60_000

export class FilesystemSigningKeys implements SigningKeys {
  readonly #folder: string
  readonly #opened = new Map<string, KeyObject>()

  /** `folder`: created with the first key. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async list(): Promise<readonly SigningKey[]> {
    const kids = (await filesIn(this.#folder)).flatMap((name) => NAME.exec(name)?.[1] ?? [])
    const kept = await Promise.all(kids.map((kid) => this.#read(kid)))
    // guard: signing-secret-is-not-listed
    return kept
      .filter((each) => each !== undefined)
      .map(({ secret, ...known }) => known)
      .sort(compareKeyAges)
  }

  async sign(kid: string, data: Uint8Array): Promise<Uint8Array> {
    const kept = await this.#read(kid)
    if (kept === undefined) throw new Error('there is no such key to sign with')
    const key = this.#opened.get(kid) ?? createPrivateKey({ key: kept.secret, format: 'jwk' })
    this.#opened.set(kid, key)
    return new Promise((resolve, reject) =>
      sign('RSA-SHA256', data, key, (error, signature) => (error === null ? resolve(signature) : reject(error))),
    )
  }

  async make(madeAt: number): Promise<SigningKey> {
    await makeFolder(this.#folder)
    await this.#forgetUnfinished()
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: BITS })
    const secret = privateKey.export({ format: 'jwk' })
    const known: SigningKey = { key: publicKeyOf(secret), madeAt }
    await this.#write({ ...known, secret })
    return known
  }

  async retire(kid: string, retiredAt: number): Promise<void> {
    const kept = await this.#read(kid)
    if (kept !== undefined) await this.#write({ ...kept, retiredAt })
  }

  async remove(kid: string): Promise<void> {
    this.#opened.delete(kid)
    if (isKid(kid)) await removeDurably(this.#fileOf(kid))
  }

  #write(kept: KeptKey): Promise<void> {
    return replaceDurably(this.#fileOf(kept.key.kid), (file) => file.writeFile(JSON.stringify(kept)))
  }

  async #read(kid: string): Promise<KeptKey | undefined> {
    if (!isKid(kid)) return undefined
    const file = this.#fileOf(kid)
    const text = await readFile(file, 'utf8').catch((error) => {
      if (isMissing(error)) return undefined
      throw error
    })
    return text === undefined ? undefined : parse(text, kid, file)
  }

  /** Removes abandoned unfinished files, which contain keys. A killed process left them. */
  async #forgetUnfinished(): Promise<void> {
    for (const name of await unfinishedFilesIn(this.#folder)) {
      const path = join(this.#folder, name)
      const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY)
      if (age > ABANDONED) await rm(path, { force: true })
    }
  }

  #fileOf(kid: string): string {
    return join(this.#folder, `${kid}.json`)
  }
}

const isKid = (kid: string): boolean => NAME.test(`${kid}.json`)

/** Returns the public half of the key. Its kid is the JWK thumbprint. https://www.rfc-editor.org/rfc/rfc7638#section-3 */
function publicKeyOf({ n = '', e = '' }: JsonWebKey): PublicKey {
  const kid = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url')
  return { kty: 'RSA', n, e, alg: 'RS256', use: 'sig', kid }
}

/** Parses the content of a key file. Throws an Error with the file name if it is not the key `kid`. */
function parse(text: string, kid: string, file: string): KeptKey {
  try {
    const kept = JSON.parse(text) as KeptKey
    if (publicKeyOf(kept.secret).kid === kid && kept.key.kid === kid && Number.isFinite(kept.madeAt)) return kept
  } catch {
    // The Error below does not include the content, which is secret.
  }
  throw new Error(`${file} is no signing key of this server`)
}
