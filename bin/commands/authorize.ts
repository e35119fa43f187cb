/** Which server is asked for a load, an export or a reindex, and as whom: as a registered client of the server, with a token of one that runs here, or signed with credentials of AWS. */
import type { Command } from 'commander'
import { requestServerToken } from '../../lambdas/runtime/control/token-command.ts'
import { requestClientToken } from '../client/client-token.ts'
import type { Authorize } from '../client/http-post.ts'
import { renewingAuthorizer } from '../client/token-renewal.ts'
import { dataOption, parseBaseUrl, sigv4Option } from './options.ts'
import { readText } from './read-text.ts'
import { BASE_URL_HELP, selectBaseUrl } from './server-meant.ts'

export type AuthorizationOptions = {
  readonly to: string
  readonly data: string
  readonly tenant?: string
  readonly client?: string
  readonly secretFile?: string
  readonly sigv4?: boolean
}

/** undefined: as nobody, which is enough for a server that asks nobody; `why`: what somebody should know of that who is refused. */
export type ResolvedAuthorization = { readonly authorize?: Authorize; readonly why?: string }

/** What of a command says which server, and as whom; absent `to`: the one that is meant. */
export type ServerAccessOptions = Omit<AuthorizationOptions, 'to'> & { readonly to?: string }

/** `whose`: what the tenant has; `scopes`: what the client needs. */
export const withServerAccessOptions = (
  command: Command,
  { whose, scopes }: { readonly whose: string; readonly scopes: string },
): Command =>
  command
    .option('--to <url>', BASE_URL_HELP, parseBaseUrl)
    .addOption(dataOption('data folder of the server, where it runs here: it gives the token'))
    .option('--tenant <name>', `whose ${whose}, where each tenant has its own (default: "default")`)
    .option('--client <id>', `a client that is registered with the server, for ${scopes}`)
    .option('--secret-file <file>', 'the secret of the client; - for standard input')
    .addOption(sigv4Option())

/** Error where an option is wrong. */
export async function resolveServerAccess(
  asked: ServerAccessOptions,
  command: Command,
): Promise<ResolvedAuthorization & { readonly base: string }> {
  const base = await selectBaseUrl(asked.to, command)
  return { base, ...(await resolveAuthorization({ ...asked, to: base })) }
}

/** What is put after the reason of who is refused for want of a token. */
export const missingTokenHint = (why: string | undefined, isRefused: boolean): string =>
  why !== undefined && isRefused ? ` (no token was sent: ${why})` : ''

export async function resolveAuthorization({
  to,
  data,
  tenant,
  client,
  secretFile,
  sigv4,
}: AuthorizationOptions): Promise<ResolvedAuthorization> {
  if (sigv4 === true) {
    if (client !== undefined || tenant !== undefined) throw new Error('--sigv4 is of who signs: without --client and --tenant')
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

/** Also who asks as nobody says whose the resources are: a server that has no such tenant refuses them. */
const inTenant = (authorized: ResolvedAuthorization, tenant: string | undefined): ResolvedAuthorization =>
  authorized.authorize !== undefined || tenant === undefined
    ? authorized
    : { ...authorized, authorize: async () => ({ 'x-tenant-id': tenant }) }

/**
 * Authorizes with a token of the server at the port, or of the server that runs on the folder. Sends a token only to the server that issued it.
 * Returns the reason if there is none.
 */
async function asOperator(to: string, folder: string, tenant: string): Promise<ResolvedAuthorization> {
  let why = `no server runs on ${folder}`
  for (const place of [{ port: portOf(to) }, { folder }]) {
    const get = () => requestServerToken(place, { isAdministrator: true, tenant })
    const first = await get().catch((error: Error) => error)
    if (typeof first === 'string' && isSame(issuerOf(first), to)) return { authorize: renewingAuthorizer(async () => (await get()) ?? '') }
    if (first instanceof Error) why = first.message
    else if (first !== undefined) why = `the server that runs on ${folder} calls itself ${issuerOf(first)}: give that address`
  }
  return { why: `${why}. For ${to} give its data folder with --data, or --client` }
}

const portOf = (url: string): number => {
  const { port, protocol } = new URL(url)
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

const issuerOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).iss

const isSame = (a: string, b: string): boolean => a.replace(LOCAL, '127.0.0.1') === b.replace(LOCAL, '127.0.0.1')

const LOCAL = /(?<=^https?:\/\/)(?:localhost|\[::1\])(?=[:/])/
