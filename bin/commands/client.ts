/** `fhir client`: administers the applications that may request tokens. */
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  type ClientChange,
  type CredentialRotation,
  INVITED_SCOPES,
  inviteClient,
  type NewClient,
  removeClient,
  rotateClientCredentials,
  updateClient,
} from '../../lambdas/runtime/control/administration.ts'
import { print, warn } from '../output.ts'
import {
  collectOption,
  formatTable,
  jsonOption,
  type ServerLocationOptions,
  warnAboutTenants,
  withAdministration,
  withLocationOptions,
} from './administration.ts'
import { type ClientKeys, keysOf, newKeyOf, registerClient, warnAboutNetworkAccess } from './client-keys.ts'
import { withExamples } from './options.ts'
import { clientRowOf, describeClient, type JsonOptions, printClient, printInvitation } from './registered-client.ts'

type Added = ServerLocationOptions &
  JsonOptions &
  Registration & {
    readonly secret?: boolean
    readonly jwks?: string
    readonly jwksUri?: string
    readonly newKey?: string
    readonly public?: boolean
    readonly patient?: string
  }

/** Registered properties of a client, apart from how it authenticates. */
type Registration = {
  readonly name?: string
  readonly scope?: readonly string[]
  readonly redirectUri?: readonly string[]
  readonly tenant?: readonly string[]
  readonly introspect?: boolean
  readonly consistency?: 'eventual' | 'strong'
}

/** Options of `client update`. `patient`: the value false removes the patient that the client acts for. */
type Changed = ServerLocationOptions & JsonOptions & Registration & { readonly patient?: string | false }

type Invited = ServerLocationOptions &
  JsonOptions & { readonly name?: string; readonly scope?: readonly string[]; readonly tenant?: readonly string[]; readonly days: number }

type Rotated = ServerLocationOptions &
  JsonOptions & { readonly jwks?: string; readonly jwksUri?: string; readonly now?: boolean; readonly end?: boolean }

const id = '<id>'
const idMeaning = '1 to 64 letters, digits, ".", "_" and "-"'

/** Adds the options of registered properties. `usual`: notes on the defaults, for the help. */
const registering = (command: Command, usual = { name: '', tenant: '' }): Command =>
  command
    .option('--name <text>', `name that users see${usual.name}`)
    .option('--scope <scopes>', 'scopes the client may request, as "system/*.rs" (repeatable; separate several by spaces)', collectOption)
    .option(
      '--redirect-uri <uri>',
      'redirect URI of logins: https, com.example.app:/…, or a loopback address. http://127.0.0.1/callback and http://[::1]/callback permit every port (repeatable)',
      collectOption,
    )
    .option('--tenant <name>', `tenant the client may access, * for all (repeatable)${usual.tenant}`, collectOption)
    .option('--patient <id>', 'the patient in context of the tokens it gets for itself')
    .option('--introspect', 'the client may introspect tokens of other clients')
    .addOption(
      new Option('--consistency <level>', 'strong: its writes answer once searches find them, on AWS about a second later').choices([
        'eventual',
        'strong',
      ]),
    )
    .addOption(jsonOption('the client, with client_id and client_secret,'))

const adding = new Command('add')
  .description('register a client; its secret is shown this once')
  .argument(id, idMeaning)
  .addOption(new Option('--secret', 'create a secret').conflicts(['newKey', 'jwks', 'jwksUri', 'public']))
  .addOption(
    new Option('--new-key <file>', 'create a key: the private JSON Web Key is written to the file').conflicts([
      'jwks',
      'jwksUri',
      'public',
    ]),
  )
  .addOption(new Option('--jwks <file>', 'public keys of the client: a JSON Web Key Set').conflicts(['jwksUri', 'public']))
  .addOption(new Option('--jwks-uri <url>', 'https URL at which the client publishes its keys').conflicts('public'))
  .option('--public', 'register no secret and no key, for an app in a browser or on a phone')

const add = registering(adding, { name: ' (default: the id)', tenant: ' (default: "default")' }).action(
  async (clientId: string, options: Added) => {
    const key = newKeyOf(options)
    const added = await registerClient(options, requestOf(clientId, options, key?.keys), key)
    printClient(added, options, `The client ${clientId} is registered`)
    if (options.public && options.redirectUri === undefined) warn(`no user can log in with ${clientId} without a --redirect-uri`)
    await warnAboutTenants(options, clientId, added.client.tenants)
    await warnAboutNetworkAccess(added)
  },
)

const updating = new Command('update')
  .description(
    'change what a client is registered with; an option that is not given changes nothing. Its tokens stay valid, with the scopes they have, unless a scope, a tenant or a redirect URI is taken from it, or its patient changes: then all of them are revoked. Keys and secrets are changed by rotate',
  )
  .argument(id, 'id of the client')

const update = registering(updating)
  .option('--no-patient', 'no patient in context of the tokens it gets for itself')
  .option('--no-introspect', 'the client may not introspect tokens of other clients')
  .action(async (clientId: string, options: Changed) => {
    const change = changeOf(options)
    const { client, isRevoked } = await withAdministration(options, (ports) => updateClient(ports, clientId, change))
    const tokens = isRevoked
      ? 'its previous access and refresh tokens are revoked'
      : 'its previous tokens stay valid, with the scopes they have'
    printClient({ client }, options, `The client ${clientId} is changed: ${tokens}`)
    await warnAboutTenants(options, clientId, client.tenants)
  })

const invite = new Command('invite')
  .description(
    'create an invitation, by which an app of members can register itself once at [base]/auth/register. Prints its initial access token. The app acts only for users who log in',
  )
  .option('--name <text>', 'name of the app that users see (default: the name that the app registers)')
  .option('--scope <scopes>', `scopes the app may register, within "${INVITED_SCOPES.join(' ')}" (default: all of them)`, collectOption)
  .option('--tenant <name>', 'tenant the app may access, * for all (repeatable; default: "default")', collectOption)
  .addOption(new Option('--days <number>', 'days until the invitation expires, 1 to 90').argParser(parseDays).default(7))
  .addOption(jsonOption('the invitation, with client_id and initial_access_token,'))
  .action(async ({ name, scope, tenant = ['default'], days, ...options }: Invited) => {
    const request = { ...(name === undefined ? {} : { name }), ...(scope === undefined ? {} : { scopes: scope }), tenants: tenant, days }
    const invitation = await withAdministration(options, (ports) => inviteClient(ports, request))
    await warnAboutTenants(options, invitation.client.id, tenant)
    printInvitation(invitation, options)
  })

function parseDays(text: string): number {
  if (!/^[1-9]\d?$/.test(text) || Number(text) > 90) throw new InvalidArgumentError('A number from 1 to 90.')
  return Number(text)
}

const list = new Command('list')
  .description('list the clients, and the invitations of apps')
  .addOption(jsonOption('one client a line,'))
  .action(async (options: ServerLocationOptions & JsonOptions) => {
    const clients = await withAdministration(options, ({ clients }) => clients.list())
    if (options.json) return print(clients.map((client) => `${JSON.stringify(describeClient({ client }))}\n`).join(''))
    if (clients.length === 0) return print('There are no clients\n')
    print(formatTable([['ID', 'AUTHENTICATES BY', 'TENANTS', 'SCOPES'], ...clients.map(clientRowOf)]))
  })

const rotate = new Command('rotate')
  .description('create a second secret for a client; the first stays valid until --end. Or set other keys')
  .argument(id, 'id of the client')
  .addOption(new Option('--now', 'revoke the previous secrets and tokens of the client at once').conflicts(['end', 'jwks', 'jwksUri']))
  .addOption(
    new Option(
      '--end',
      'create no secret: revoke the first one and all tokens of the client. Tokens of the second secret are revoked too, because tokens do not name their secret',
    ).conflicts(['jwks', 'jwksUri']),
  )
  .addOption(new Option('--jwks <file>', 'other public keys: a JSON Web Key Set').conflicts('jwksUri'))
  .option('--jwks-uri <url>', 'other keys, published at an https URL')
  .addOption(jsonOption('the client, with client_id and client_secret,'))
  .action(async (clientId: string, options: Rotated) => {
    const rotation = rotationOf(options)
    const rotated = await withAdministration(options, (ports) => rotateClientCredentials(ports, clientId, rotation))
    printClient(rotated, options, `The client ${clientId} is changed: ${outcomeOf(rotation)}`)
    await warnAboutNetworkAccess(rotated)
  })

/** Returns the effect of the rotation, for the confirmation. */
function outcomeOf(rotation: CredentialRotation): string {
  if (rotation === 'next')
    return 'its first secret stays valid until --end. That revokes all its tokens, those of the new secret too, so that it requests new ones'
  const tokens = 'its previous tokens and refresh tokens are revoked'
  return rotation === 'end' ? `only its second secret is valid; ${tokens}, also those of the second secret` : tokens
}

const remove = new Command('remove')
  .description('remove a client or an invitation, and revoke its tokens')
  .argument(id, 'id of the client')
  .action(async (clientId: string, options: ServerLocationOptions) => {
    await withAdministration(options, (ports) => removeClient(ports, clientId))
    print(`The client ${clientId} is removed. Its tokens are rejected within three seconds\n`)
  })

export const clientCommand = new Command('client')
  .description('register, invite, list, change and remove the applications that may request tokens')
  .addCommand(
    withExamples(withLocationOptions(add), [
      'npm run -s fhir -- client add reporting --secret --scope system/Observation.rs',
      "npm run -s fhir -- client add my-app --public --scope 'launch/patient patient/*.rs' --redirect-uri http://127.0.0.1/callback",
      "npm run -s fhir -- client add backend --jwks-uri https://app.example.org/jwks.json --scope 'system/*.rs'",
    ]),
  )
  .addCommand(
    withExamples(withLocationOptions(invite), [
      "npm run -s fhir -- client invite --name 'Fit app'",
      "npm run -s fhir -- client invite --scope 'launch/patient patient/ExplanationOfBenefit.rs' --days 1",
    ]),
  )
  .addCommand(withExamples(withLocationOptions(list), ['npm run -s fhir -- client list --json']))
  .addCommand(
    withExamples(withLocationOptions(update), [
      "npm run -s fhir -- client update reporting --scope 'system/Observation.rs system/Patient.rs'",
    ]),
  )
  .addCommand(
    withExamples(withLocationOptions(rotate), [
      'npm run -s fhir -- client rotate reporting',
      'npm run -s fhir -- client rotate reporting --end',
    ]),
  )
  .addCommand(withExamples(withLocationOptions(remove), ['npm run -s fhir -- client remove reporting']))

const requestOf = (clientId: string, options: Added, keys: ClientKeys | undefined): NewClient => ({
  id: clientId,
  name: options.name ?? clientId,
  authentication: keys ?? authenticationOf(options),
  scopes: options.scope ?? [],
  redirectUris: options.redirectUri ?? [],
  tenants: options.tenant ?? ['default'],
  mayIntrospect: options.introspect === true,
  ...(options.patient === undefined ? {} : { patient: options.patient }),
  ...(options.consistency === undefined ? {} : { consistency: options.consistency }),
})

/** Returns the requested changes. Throws if there are none. */
function changeOf({ name, scope, redirectUri, tenant, introspect, consistency, patient }: Changed): ClientChange {
  const change: ClientChange = {
    ...(name === undefined ? {} : { name }),
    ...(scope === undefined ? {} : { scopes: scope }),
    ...(redirectUri === undefined ? {} : { redirectUris: redirectUri }),
    ...(tenant === undefined ? {} : { tenants: tenant }),
    ...(introspect === undefined ? {} : { mayIntrospect: introspect }),
    ...(consistency === undefined ? {} : { consistency }),
    ...(patient === undefined ? {} : { patient: patient === false ? null : patient }),
  }
  if (Object.keys(change).length === 0)
    throw new Error(
      'Nothing was changed: give --name, --scope, --redirect-uri, --tenant, --patient, --no-patient, --introspect, --no-introspect or --consistency',
    )
  return change
}

function authenticationOf({ secret, jwks, jwksUri, public: isPublic }: Added): NewClient['authentication'] {
  if (secret) return 'secret'
  if (isPublic) return { kind: 'public' }
  const keys = keysOf({ jwks, jwksUri })
  if (keys === undefined)
    throw new Error('Choose how the client authenticates: --secret, --new-key FILE, --jwks FILE, --jwks-uri URL or --public')
  return keys
}

const rotationOf = ({ now, end, jwks, jwksUri }: Rotated): CredentialRotation =>
  keysOf({ jwks, jwksUri }) ?? (now ? 'now' : end ? 'end' : 'next')
