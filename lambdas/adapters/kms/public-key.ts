/** Reads the public half of a KMS key, for verifiers without access to KMS. */
import { createPublicKey } from 'node:crypto'
import { GetPublicKeyCommand, KMSClient } from '@aws-sdk/client-kms'

/** Returns the public key in PEM format. https://www.rfc-editor.org/rfc/rfc7468#section-13 */
export async function readPublicKeyPem(KeyId: string, client = new KMSClient()): Promise<string> {
  const { PublicKey } = await client.send(new GetPublicKeyCommand({ KeyId }))
  return String(createPublicKey({ key: Buffer.from(PublicKey!), format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' }))
}
