/** The list of the keys that KMS holds for us. Who only verifies needs nothing of KMS. */
import type { SharedState } from '../../ports/rows/shared-state.ts'
import { compareKeyAges, type PublishedKeys, type SigningKey } from '../../ports/security/signing-keys.ts'

/** `id`: of the key in KMS. */
export type KmsKey = SigningKey & { readonly id: string }

/** What the list is called among the states that functions share, and by which tag permissions know the keys of a stage. */
export const KEY_LIST = 'SIGNING_KEYS'
export const STAGE_TAG = 'fhir-stage'

export type KmsKeyList = SharedState<readonly KmsKey[]>

export const publishedKeys = (kept: Pick<KmsKeyList, 'read'>): PublishedKeys => ({
  // guard: kms-key-id-is-not-published
  list: async () => (await kept.read()).value.map(({ id, ...known }) => known).toSorted(compareKeyAges),
})
