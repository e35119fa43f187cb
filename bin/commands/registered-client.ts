/** Output of a registered client: as JSON, as a row of a table, and as a confirmation. */
import type { Client, RegisteredClient } from '../../lambdas/runtime/control/administration.ts'
import { print } from '../output.ts'

export type JsonOptions = { readonly json?: boolean }

/** Returns the client for JSON output, with the names of RFC 7591 where they exist: https://www.rfc-editor.org/rfc/rfc7591#section-2 */
export const describeClient = ({ client, secret }: RegisteredClient) => ({
  client_id: client.id,
  ...(secret === undefined ? {} : { client_secret: secret }),
  client_name: client.name,
  token_endpoint_auth_method: METHODS[client.authentication.kind],
  scope: client.scopes.join(' '),
  redirect_uris: client.redirectUris,
  ...(client.authentication.kind === 'uri' ? { jwks_uri: client.authentication.uri } : {}),
  ...(client.authentication.kind === 'keys' ? { jwks: { keys: client.authentication.keys } } : {}),
  tenants: client.tenants,
  ...(client.partner === undefined ? {} : { partner: client.partner }),
  ...(client.patient === undefined ? {} : { patient: client.patient }),
  may_introspect: client.mayIntrospect,
  ...(client.consistency === undefined ? {} : { consistency: client.consistency }),
})

const METHODS: Readonly<Record<Client['authentication']['kind'], string>> = {
  secret: 'client_secret_basic',
  keys: 'private_key_jwt',
  uri: 'private_key_jwt',
  public: 'none',
}

export function clientRowOf({ id, authentication, tenants, scopes }: Client): readonly string[] {
  const descriptions = {
    secret: () => (authentication.kind === 'secret' && authentication.hashes.length > 1 ? 'two secrets' : 'a secret'),
    keys: () => 'keys',
    uri: () => 'published keys',
    public: () => 'nothing (public)',
  }
  return [id, descriptions[authentication.kind](), tenants.join(' '), scopes.join(' ')]
}

export function printClient(registered: RegisteredClient, { json }: JsonOptions, line: string): void {
  if (json) return print(`${JSON.stringify(describeClient(registered))}\n`)
  const { client, secret } = registered
  const secretText =
    secret === undefined
      ? ''
      : `\n\n  client_id      ${client.id}\n  client_secret  ${secret}\n\nThe secret is not kept, and not shown again`
  print(`${line}${secretText}\n`)
}
