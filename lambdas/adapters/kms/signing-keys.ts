/**
 * SigningKeys in KMS, which never reveals a private key. The list of keys is stored outside KMS, so that verifiers do not call KMS.
 * https://docs.aws.amazon.com/kms/latest/developerguide/symm-asymm-choose-key-spec.html
 */
import { createHash, createPublicKey } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  CreateAliasCommand,
  CreateKeyCommand,
  DescribeKeyCommand,
  GetPublicKeyCommand,
  KMSClient,
  KMSInvalidStateException,
  KMSServiceException,
  ListResourceTagsCommand,
  NotFoundException,
  paginateListAliases,
  ScheduleKeyDeletionCommand,
  SignCommand,
} from '@aws-sdk/client-kms'
import { timed } from '../../ports/execution/call-times.ts'
import type { PublicKey, SigningKey, SigningKeys } from '../../ports/security/signing-keys.ts'
import { aliasPrefixOf, type KmsKey, type KmsKeyList, publishedKeys, STAGE_TAG } from './published-keys.ts'

/** Days until KMS deletes a key whose deletion is scheduled: the minimum that KMS accepts. */
const PENDING_DAYS = 7
/**
 * Maximum attempts of a call about a new key. A new key may be invisible for some seconds.
 * https://docs.aws.amazon.com/kms/latest/developerguide/accessing-kms.html#programming-eventual-consistency
 */
const ATTEMPTS = 8
const PAUSE = 100
/** Age in milliseconds from which an unlisted key is abandoned. `make` lists a key within a minute after its creation. */
const LISTED_WITHIN = 60 * 60 * 1_000

export type KmsSigningKeysParts = {
  readonly kept: KmsKeyList
  /** Stage of the server. Permissions identify its keys by a tag with the stage. `removeLost` finds them by an alias with the stage. */
  readonly stage: string
  readonly client?: KMSClient
  /** AWS region. Default: the region of the environment. */
  readonly region?: string
}

export class KmsSigningKeys implements SigningKeys {
  readonly #client: KMSClient
  readonly #kept: KmsKeyList
  readonly #stage: string
  readonly list: () => Promise<readonly SigningKey[]>

  constructor({ kept, stage, region, client = new KMSClient(region === undefined ? {} : { region }) }: KmsSigningKeysParts) {
    this.#client = client
    this.#kept = kept
    this.#stage = stage
    this.list = publishedKeys(kept).list
  }

  /** Signs the SHA-256 digest of the data, because KMS accepts messages of at most 4,096 bytes. */
  async sign(kid: string, data: Uint8Array): Promise<Uint8Array> {
    const id = await this.#idOf(kid)
    if (id === undefined) throw new Error('there is no such key to sign with')
    const Message = createHash('sha256').update(data).digest()
    const command = new SignCommand({ KeyId: id, Message, MessageType: 'DIGEST', SigningAlgorithm: 'RSASSA_PKCS1_V1_5_SHA_256' })
    return (await timed('kms', () => this.#client.send(command))).Signature!
  }

  async make(madeAt: number): Promise<SigningKey> {
    const Tags = [{ TagKey: STAGE_TAG, TagValue: this.#stage }]
    const { KeyMetadata } = await this.#client.send(
      new CreateKeyCommand({ KeySpec: 'RSA_2048', KeyUsage: 'SIGN_VERIFY', Description: 'FHIR server: signs access tokens', Tags }),
    )
    const id = KeyMetadata!.KeyId!
    // Add the alias first: if this call is interrupted later, `removeLost` finds the key by it.
    const alias = new CreateAliasCommand({ AliasName: `${aliasPrefixOf(this.#stage)}${id}`, TargetKeyId: id })
    await repeatUntilVisible(() => this.#client.send(alias)).catch(async (error: unknown) => {
      // Without its alias `removeLost` would never find the key.
      await this.#forget(id)
      throw error
    })
    const known: SigningKey = { key: await this.#publicKey(id), madeAt }
    await this.#kept.change((keys) => (keys.some((key) => key.id === id) ? keys : [...keys, { ...known, id }]))
    return known
  }

  async retire(kid: string, retiredAt: number): Promise<void> {
    const retired = (each: KmsKey): KmsKey => (each.key.kid === kid ? { ...each, retiredAt } : each)
    await this.#kept.change((keys) => (keys.some(({ key }) => key.kid === kid) ? keys.map(retired) : keys))
  }

  /** Schedules the deletion in KMS before it removes the key from the list. So an interrupted call can be repeated. */
  async remove(kid: string): Promise<void> {
    const id = await this.#idOf(kid)
    if (id === undefined) return
    await this.#forget(id)
    await this.#kept.change((keys) => (keys.some((key) => key.id === id) ? keys.filter((key) => key.id !== id) : keys))
  }

  /**
   * Schedules the deletion of keys of the stage that are older than LISTED_WITHIN and not in the list. A call of `make` was interrupted
   * before it listed them. Lists aliases, because listing keys would cause a denied request for each key of another owner.
   */
  async removeLost(now: number): Promise<void> {
    const known = new Set((await this.#kept.read()).value.map(({ id }) => id))
    const prefix = aliasPrefixOf(this.#stage)
    for await (const { Aliases = [] } of paginateListAliases({ client: this.#client }, {}))
      for (const { AliasName = '', TargetKeyId: id } of Aliases) {
        if (!AliasName.startsWith(prefix) || id === undefined || known.has(id)) continue
        // guard: kms-foreign-key-is-ignored
        if ((await this.#isOurs(id)) && (await this.#isLeft(id, now))) await this.#forget(id)
      }
  }

  /** Whether the key has the tag of the stage. A key to which AWS denies access belongs to another owner. */
  async #isOurs(KeyId: string): Promise<boolean> {
    try {
      const { Tags = [] } = await this.#client.send(new ListResourceTagsCommand({ KeyId }))
      return Tags.some(({ TagKey, TagValue }) => TagKey === STAGE_TAG && TagValue === this.#stage)
    } catch (error) {
      if (error instanceof KMSServiceException && error.name === 'AccessDeniedException') return false
      throw error
    }
  }

  async #isLeft(KeyId: string, now: number): Promise<boolean> {
    const { KeyMetadata } = await this.#client.send(new DescribeKeyCommand({ KeyId }))
    return KeyMetadata?.KeyState === 'Enabled' && KeyMetadata.CreationDate!.getTime() + LISTED_WITHIN < now
  }

  async #forget(KeyId: string): Promise<void> {
    try {
      await this.#client.send(new ScheduleKeyDeletionCommand({ KeyId, PendingWindowInDays: PENDING_DAYS }))
    } catch (error) {
      if (!(error instanceof NotFoundException || error instanceof KMSInvalidStateException)) throw error
    }
  }

  async #idOf(kid: string): Promise<string | undefined> {
    return (await this.#kept.read()).value.find(({ key }) => key.kid === kid)?.id
  }

  async #publicKey(KeyId: string): Promise<PublicKey> {
    const { PublicKey } = await repeatUntilVisible(() => this.#client.send(new GetPublicKeyCommand({ KeyId })))
    return publicKeyOf(PublicKey!)
  }
}

/** Repeats a call about a new key, which fails while the key is invisible. */
async function repeatUntilVisible<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof NotFoundException) || attempt === ATTEMPTS) throw error
      await wait(PAUSE * 2 ** attempt)
    }
  }
}

/** Converts the DER encoding of KMS to a JWK. Its kid is the thumbprint. https://www.rfc-editor.org/rfc/rfc7638#section-3 */
function publicKeyOf(der: Uint8Array): PublicKey {
  const { n = '', e = '' } = createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' }).export({ format: 'jwk' })
  const kid = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url')
  return { kty: 'RSA', n, e, alg: 'RS256', use: 'sig', kid }
}
