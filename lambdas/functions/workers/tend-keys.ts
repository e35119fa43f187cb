/** Creates the first signing key of a stage, completes key rotations every day, and removes all keys with the stage. */
import { type CustomResourceEvent, customResource } from '../../runtime/aws/custom-resource.ts'
import { maintainSigningKeys, removeSigningKeys } from '../../runtime/aws/signing-keys.ts'

const deploy = customResource(maintainSigningKeys, removeSigningKeys)

export const handler = (event: CustomResourceEvent | { readonly sweep: 'keys' }): Promise<void> =>
  'sweep' in event ? maintainSigningKeys() : deploy(event)
