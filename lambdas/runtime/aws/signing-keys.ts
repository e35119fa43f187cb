/** The cloud home's signing keys: KMS. */
import { STAGE_TAG } from '../../adapters/kms/published-keys.ts'
import { KmsSigningKeys } from '../../adapters/kms/signing-keys.ts'
import { maintainKeys } from '../../auth/tokens/key-rotation.ts'
import { once } from '../once.ts'
import { keyList } from './authorization.ts'
import { clock, deploymentSettings } from './ports.ts'

export const signingKeys = /* @__PURE__ */ once(
  () => new KmsSigningKeys({ kept: keyList(), tags: { [STAGE_TAG]: deploymentSettings().stage } }),
)

/** When a stage is made, and every day: makes the first key, ends rotations, removes what no token needs, and keys that are in no list. */
export async function maintainSigningKeys(): Promise<void> {
  const now = clock().now()
  await maintainKeys(signingKeys(), now)
  await signingKeys().removeLost(now)
}

/** With the stage its keys go: tokens outlive it by an hour at most, and a stage that comes again makes others. */
export async function removeSigningKeys(): Promise<void> {
  for (const { key } of await signingKeys().list()) await signingKeys().remove(key.kid)
}
