/** Signing keys on AWS, in KMS. */
import { KmsSigningKeys } from '../../adapters/kms/signing-keys.ts'
import { maintainKeys } from '../../auth/tokens/key-rotation.ts'
import { once } from '../once.ts'
import { keyList } from './authorization.ts'
import { clock, deploymentSettings } from './ports.ts'

export const signingKeys = /* @__PURE__ */ once(() => new KmsSigningKeys({ kept: keyList(), stage: deploymentSettings().stage }))

/**
 * Creates the first key, finishes rotations, and removes keys that no token needs or that are missing from the list. Runs when the stage is
 * created, and every day.
 */
export async function maintainSigningKeys(): Promise<void> {
  const now = clock().now()
  await maintainKeys(signingKeys(), now)
  await signingKeys().removeLost(now)
}

/** Removes all keys when the stage is deleted. Its tokens expire within an hour anyway, and a new stage creates new keys. */
export async function removeSigningKeys(): Promise<void> {
  for (const { key } of await signingKeys().list()) await signingKeys().remove(key.kid)
}
