/** Output of a registered client: as JSON, as a row of a table, and as a confirmation. */
import { type Client, clientMetadataOf, type MadeInvitation, type RegisteredClient } from '../../lambdas/runtime/control/administration.ts'
import { print } from '../output.ts'

export type JsonOptions = { readonly json?: boolean }

/** Returns the client for JSON output, with the names of RFC 7591 where they exist: https://www.rfc-editor.org/rfc/rfc7591#section-2 */
export const describeClient = ({ client, secret }: RegisteredClient) => ({
  ...clientMetadataOf(client),
  ...(secret === undefined ? {} : { client_secret: secret }),
  tenants: client.tenants,
  ...(client.partner === undefined ? {} : { partner: client.partner }),
  ...(client.patient === undefined ? {} : { patient: client.patient }),
  may_introspect: client.mayIntrospect,
  ...(client.consistency === undefined ? {} : { consistency: client.consistency }),
  ...(client.invited === undefined ? {} : describeInvited(client.invited)),
})

/** Describes an invitation or its registered app. `invitation_expires`: absent after the registration. */
const describeInvited = ({ expires }: NonNullable<Client['invited']>) => ({
  invited: true,
  ...(expires === undefined ? {} : { invitation_expires: new Date(expires).toISOString() }),
})

export function clientRowOf({ id, authentication, tenants, scopes, invited }: Client): readonly string[] {
  const descriptions = {
    secret: () => (authentication.kind === 'secret' && authentication.hashes.length > 1 ? 'two secrets' : 'a secret'),
    keys: () => 'keys',
    uri: () => 'published keys',
    public: () => 'nothing (public)',
  }
  const text = invited?.expires === undefined ? descriptions[authentication.kind]() : invitationText(invited.expires)
  return [id, text, tenants.join(' '), scopes.join(' ')]
}

const invitationText = (expires: number): string => `invitation until ${new Date(expires).toISOString()}`

export function printClient(registered: RegisteredClient, { json }: JsonOptions, line: string): void {
  if (json) return print(`${JSON.stringify(describeClient(registered))}\n`)
  const { client, secret } = registered
  const secretText =
    secret === undefined
      ? ''
      : `\n\n  client_id      ${client.id}\n  client_secret  ${secret}\n\nThe secret is not stored, and cannot be shown again`
  print(`${line}${secretText}\n`)
}

/** Prints an invitation with its initial access token, which cannot be printed again. */
export function printInvitation({ client, token }: MadeInvitation, { json }: JsonOptions): void {
  if (json) return print(`${JSON.stringify({ ...describeClient({ client }), initial_access_token: token })}\n`)
  print(
    [
      `One app can register until ${new Date(client.invited!.expires!).toISOString()}`,
      `  client_id             ${client.id}\n  initial access token  ${token}`,
      'The token is not stored, and cannot be shown again\n',
    ].join('\n\n'),
  )
}
