/** Keys by which a client signs: read from options, or created for its owner. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import {
  addClient,
  type CredentialRotation,
  checkClient,
  clientKeysOf,
  keysBlockReason,
  type NewClient,
  type RegisteredClient,
} from '../../lambdas/runtime/control/administration.ts'
import { warn } from '../output.ts'
import { type ServerLocationOptions, withAdministration } from './administration.ts'
import { readText } from './read-text.ts'

/** Public keys of a client, or the URL at which it publishes them. */
export type ClientKeys = Extract<CredentialRotation, object>

/** Returns the keys that the options name, or undefined. Throws Error for a file that is no JSON Web Key Set. */
export function keysOf({
  jwks,
  jwksUri,
}: {
  readonly jwks: string | undefined
  readonly jwksUri: string | undefined
}): ClientKeys | undefined {
  if (jwks !== undefined) return { kind: 'keys', keys: keysIn(jwks) }
  return jwksUri === undefined ? undefined : { kind: 'uri', uri: jwksUri }
}

/**
 * Creates a key pair on P-384, the curve of ES384 in SMART. `text`: the private key, for its owner only. It names its purpose in `key_ops`,
 * because some programs require that.
 */
function newKey(): { readonly keys: ClientKeys; readonly text: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const about = { kid: randomUUID(), alg: 'ES384' }
  const keys = clientKeysOf(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), ...about, use: 'sig' }] }))
  return {
    keys: { kind: 'keys', keys },
    text: `${JSON.stringify({ ...privateKey.export({ format: 'jwk' }), ...about, key_ops: ['sign'] })}\n`,
  }
}

/** Writes the private key to a new file. Throws if the file exists, because overwriting would lose a key. */
function writeKey(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      code === 'EEXIST'
        ? `${file} already exists, and a key is never overwritten: choose another file`
        : `${file} cannot be written (${code})`,
    )
  }
}

function keysIn(file: string): ReturnType<typeof clientKeysOf> {
  const text = readText(file)
  try {
    return clientKeysOf(text)
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
}

/** Created key of a client. `file`: where its owner gets the private key. */
export type NewKey = ReturnType<typeof newKey> & { readonly file: string }

/** Creates a key if the option names a file for it. */
export const newKeyOf = ({ newKey: file }: { readonly newKey?: string }): NewKey | undefined =>
  file === undefined ? undefined : { ...newKey(), file }

/** Registers the client and writes its new key. Throws Error if one of the two fails; then there is neither. */
export async function registerClient(
  options: ServerLocationOptions,
  request: NewClient,
  key: NewKey | undefined,
): Promise<RegisteredClient> {
  // Check first, so that an invalid registration leaves no key file.
  checkClient(request)
  // Write the key file before the registration, so that no registered client lacks its key.
  if (key !== undefined) writeKey(key.file, key.text)
  return withAdministration(options, (ports) => addClient(ports, request), true).catch((error) => {
    if (key !== undefined) rmSync(key.file, { force: true })
    throw error
  })
}

/**
 * Warns if the server will not fetch the client's keys from their URL. The server itself would report that only when the client connects.
 */
export async function warnAboutNetworkAccess({ client: { authentication } }: RegisteredClient): Promise<void> {
  const wall = authentication.kind === 'uri' ? await keysBlockReason(authentication.uri) : undefined
  if (wall !== undefined) warn(`its keys will not be fetched: ${wall} of the server`)
}
