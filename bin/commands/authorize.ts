/** As whom files are loaded: as a registered client of the server, or with a token of one that runs here. */
import { readFileSync } from 'node:fs'
import { clientToken } from '../../lambdas/runtime/load/client-token.ts'
import type { Authorize } from '../../lambdas/runtime/load/post.ts'
import { renewed } from '../../lambdas/runtime/load/renewed-token.ts'
import { tokenOfServer } from '../../lambdas/runtime/token-command.ts'

export type As = {
  readonly to: string
  readonly data: string
  readonly tenant?: string
  readonly client?: string
  readonly secretFile?: string
}

/** undefined: as nobody, which is enough for a server that asks nobody; `why`: what somebody should know of that who is refused. */
export type Authorized = { readonly authorize?: Authorize; readonly why?: string }

export async function authorizeAs({ to, data, tenant, client, secretFile }: As): Promise<Authorized> {
  if (client !== undefined) {
    if (secretFile === undefined) throw new Error('--client needs --secret-file: a file with its secret, or - for standard input')
    const secret = readFileSync(secretFile === '-' ? 0 : secretFile, 'utf8').trim()
    const token = renewed(() => clientToken(to, client, secret))
    return { authorize: tenant === undefined ? token : async () => ({ ...(await token()), 'x-tenant-id': tenant }) }
  }
  const place = { folder: data, port: portOf(to) }
  const get = () => tokenOfServer(place, { isAdministrator: true, tenant: tenant ?? 'default' })
  const first = await get().catch((error: Error) => error)
  if (first === undefined) return { why: `no server runs on ${data}: give --data, or --client` }
  if (first instanceof Error) return { why: first.message }
  // A token is sent to the server it is of, and to no other.
  if (!isSame(issuerOf(first), to))
    return { why: `the server that runs on ${data} calls itself ${issuerOf(first)}: give it as --to, or --client` }
  return { authorize: renewed(async () => (await get()) ?? '') }
}

const portOf = (url: string): number => {
  const { port, protocol } = new URL(url)
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

const issuerOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).iss

const isSame = (a: string, b: string): boolean => a.replace(LOCAL, '127.0.0.1') === b.replace(LOCAL, '127.0.0.1')

const LOCAL = /(?<=^https?:\/\/)(?:localhost|\[::1\])(?=[:/])/
