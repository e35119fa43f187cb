/**
 * Selects the server of a load, an export or a reindex, and the authorization of its requests. Requests use a registered client, a token of
 * a server on this machine, or an AWS signature.
 */
import type { Command } from 'commander'
import { requestServerToken } from '../../lambdas/runtime/control/token-command.ts'
import { requestClientToken } from '../client/client-token.ts'
import type { Authorize } from '../client/http-post.ts'
import { renewingAuthorizer } from '../client/token-renewal.ts'
import { dataOption, parseBaseUrl, sigv4Option } from './options.ts'
import { readText } from './read-text.ts'
import { BASE_URL_HELP, selectBaseUrl } from './server-url.ts'

export type AuthorizationOptions = {
  readonly to: string
  readonly data: string
  readonly tenant?: string
  readonly client?: string
  readonly secretFile?: string
  readonly sigv4?: boolean
}

/**
 * Authorization of requests. Absent `authorize`: requests carry no token, which a server in open mode accepts. `reason`: reason for that,
 * in case the server refuses.
 */
export type ResolvedAuthorization = { readonly authorize?: Authorize; readonly reason?: string }

/** Options that select the server and the authorization. Absent `to`: `selectBaseUrl` selects the server. */
export type ServerAccessOptions = Omit<AuthorizationOptions, 'to'> & { readonly to?: string }

/** Adds the options of ServerAccessOptions. `tenantOwner`: end of the help text of --tenant. `scopes`: scopes that the client needs. */
export const withServerAccessOptions = (
  command: Command,
  { tenantOwner, scopes }: { readonly tenantOwner: string; readonly scopes: string },
): Command =>
  command
    .option('--to <url>', BASE_URL_HELP, parseBaseUrl)
    .addOption(dataOption('data folder of a server on this machine, which issues the token'))
    .option('--tenant <name>', `tenant of ${tenantOwner}, if the server has tenants (default: "default")`)
    .option('--client <id>', `a client that is registered with the server, for ${scopes}`)
    .option('--secret-file <file>', 'the secret of the client; - for standard input')
    .addOption(sigv4Option())

/** Returns the base URL and the authorization. Throws if an option is wrong. */
export async function resolveServerAccess(
  options: ServerAccessOptions,
  command: Command,
): Promise<ResolvedAuthorization & { readonly base: string }> {
  const base = await selectBaseUrl(options.to, command)
  return { base, ...(await resolveAuthorization({ ...options, to: base })) }
}

/** Returns the text to append to the error if a request without a token was refused, otherwise an empty text. */
export const missingTokenHint = (reason: string | undefined, isRefused: boolean): string =>
  reason !== undefined && isRefused ? ` (no token was sent: ${reason})` : ''

export async function resolveAuthorization({
  to,
  data,
  tenant,
  client,
  secretFile,
  sigv4,
}: AuthorizationOptions): Promise<ResolvedAuthorization> {
  if (sigv4 === true) {
    if (client !== undefined || tenant !== undefined)
      throw new Error('--sigv4 signs as the AWS identity of the operator: give neither --client nor --tenant')
    const { sigv4Authorizer: signedFor } = await import('../client/sigv4-signing.ts')
    return { authorize: signedFor(to) }
  }
  if ((client === undefined) !== (secretFile === undefined))
    throw new Error('--client ID and --secret-file FILE (its secret, - for standard input) belong together: give both or neither')
  if (client === undefined || secretFile === undefined) return inTenant(await asOperator(to, data, tenant ?? 'default'), tenant)
  const secret = readText(secretFile === '-' ? 0 : secretFile).trim()
  const token = renewingAuthorizer(() => requestClientToken(to, client, secret))
  return { authorize: tenant === undefined ? token : async () => ({ ...(await token()), 'x-tenant-id': tenant }) }
}

/** Sends the tenant also without a token. A server without that tenant then refuses the request. */
const inTenant = (authorized: ResolvedAuthorization, tenant: string | undefined): ResolvedAuthorization =>
  authorized.authorize !== undefined || tenant === undefined
    ? authorized
    : { ...authorized, authorize: async () => ({ 'x-tenant-id': tenant }) }

/**
 * Authorizes with a token of the server on the URL's port, or of the server that runs on the folder. Sends a token only to the server that
 * issued it. Returns the reason if there is no token.
 */
async function asOperator(to: string, folder: string, tenant: string): Promise<ResolvedAuthorization> {
  let reason = `no server runs on ${folder}`
  for (const server of [{ port: portOf(to) }, { folder }]) {
    const get = () => requestServerToken(server, { isAdministrator: true, tenant })
    const first = await get().catch((error: Error) => error)
    if (typeof first === 'string' && isSame(issuerOf(first), to)) return { authorize: renewingAuthorizer(async () => (await get()) ?? '') }
    if (first instanceof Error) reason = first.message
    else if (first !== undefined) reason = `the server that runs on ${folder} calls itself ${issuerOf(first)}: give that address`
  }
  return { reason: `${reason}. For ${to} give its data folder with --data, or --client` }
}

const portOf = (url: string): number => {
  const { port, protocol } = new URL(url)
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

const issuerOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).iss

const isSame = (a: string, b: string): boolean => a.replace(LOCAL, '127.0.0.1') === b.replace(LOCAL, '127.0.0.1')

const LOCAL = /(?<=^https?:\/\/)(?:localhost|\[::1\])(?=[:/])/
