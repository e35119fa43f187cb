/** List of the server's signing keys, stored outside KMS. So verifying a token needs no access to KMS. */
import type { SharedState } from '../../ports/rows/shared-state.ts'
import { compareKeyAges, type PublishedKeys, type SigningKey } from '../../ports/security/signing-keys.ts'

/** `id`: key id in KMS. */
export type KmsKey = SigningKey & { readonly id: string }

/** KEY_LIST: name of the list among the shared states of the functions. STAGE_TAG: tag by which permissions select the keys of a stage. */
export const KEY_LIST = 'SIGNING_KEYS'
export const STAGE_TAG = 'fhir-stage'

/** Prefix of the aliases of a stage's keys. The key id follows. lib/permissions/grants.ts permits these aliases. */
export const aliasPrefixOf = (stage: string): string => `alias/fhir-${stage}/signing/`

export type KmsKeyList = SharedState<readonly KmsKey[]>

export const publishedKeys = (kept: Pick<KmsKeyList, 'read'>): PublishedKeys => ({
  // guard: kms-key-id-is-not-published
  list: async () => (await kept.read()).value.map(({ id, ...known }) => known).toSorted(compareKeyAges),
})
