/** Tokens of a server of a test, with any claims: signed by the key in its data folder. */
import { join } from 'node:path'
import { FilesystemSigningKeys } from '../../../lambdas/adapters/filesystem/signing-keys.ts'
import { SIGNING_KEYS_FOLDER } from '../../../lambdas/runtime/control/administration.ts'
import type { EmbeddedServer } from '../../../lambdas/runtime/embedded/server.ts'

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** `issuer`: what the server calls itself. */
export async function anyToken({ folder }: EmbeddedServer, issuer: string, claims: Readonly<Record<string, unknown>>): Promise<string> {
  const keys = new FilesystemSigningKeys(join(folder, SIGNING_KEYS_FOLDER))
  const [key] = await keys.list()
  const { kid } = key!.key
  const now = Math.floor(Date.now() / 1_000)
  const client = 'app'
  const standing = { iss: issuer, aud: issuer, iat: now, exp: now + 600, jti: `jti-${now}`, typ: 'Bearer', client_auth: 'secret' }
  const who = { sub: client, azp: client, client_id: client, sid: 'sid', session_state: 'sid', acr: '0' }
  const text = `${encoded({ alg: 'RS256', typ: 'JWT', kid })}.${encoded({ ...standing, ...who, ...claims })}`
  return `${text}.${Buffer.from(await keys.sign(kid, Buffer.from(text))).toString('base64url')}`
}
