/** Server in a separate process, started as by `npm start`, and a client that needs little processor time. All benches over HTTP use them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Agent, type OutgoingHttpHeaders, request } from 'node:http'
import type { Authorize } from '../../bin/client/http-post.ts'
import { renewingAuthorizer } from '../../bin/client/token-renewal.ts'
import { requestServerToken } from '../../lambdas/runtime/control/token-command.ts'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: { readonly start: string } }
/** Options of `npm start` after `node`. */
const startOptions = scripts.start.replace(/^exec node /, '').split(' ')

/** Authorizers of the servers that require a token, by port. */
const AUTHORIZED = new Map<string, Authorize>()

/** Makes `sendRequest` add an administrator's token to requests to this server. Returns undefined if the server is open. */
export function authorizeRequests(port: number, data: string): Authorize | undefined {
  if (process.env.FHIR_ACCESS === 'open') return undefined
  const get = async () => (await requestServerToken({ folder: data }, { isAdministrator: true, tenant: 'default' })) ?? ''
  const authorize = renewingAuthorizer(get)
  AUTHORIZED.set(String(port), authorize)
  return authorize
}

/** Processes that a bench started and that run. */
const STARTED = new Set<ChildProcess>()

/** Registers a process, so that `stopAll` ends it, also after a failed measurement. */
export function trackProcess(child: ChildProcess): ChildProcess {
  STARTED.add(child)
  return child.once('exit', () => STARTED.delete(child))
}

export const stopAll = async (): Promise<void> => void (await Promise.all([...STARTED].map(stopProcess)))

/** `ready`: milliseconds until the server answers. `authorize`: undefined if the server is open. */
export type StartedServer = { readonly child: ChildProcess; readonly ready: number; readonly authorize?: Authorize }

/** Returns the command that starts the server: node and its arguments. */
export const startCommand = (port: number, data: string): readonly string[] => [
  process.execPath,
  ...startOptions,
  '--port',
  String(port),
  '--data',
  data,
]

/**
 * Starts the server. `before`: command with arguments that runs the server, and must end it when it ends itself. Rejects if the server ends
 * before it answers.
 */
export function startServer(port: number, data: string, ...before: readonly string[]): Promise<StartedServer> {
  const began = performance.now()
  const [command, ...args] = [...before, ...startCommand(port, data)]
  const child = trackProcess(spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] }))
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`The server on port ${port} ended before it answered`)))
    child.stdout!.on('data', (text) => {
      if (!String(text).includes('FHIR R4 server')) return
      const authorize = authorizeRequests(port, data)
      resolve({ child, ready: performance.now() - began, ...(authorize === undefined ? {} : { authorize }) })
    })
  })
}

export const stopProcess = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (!STARTED.has(child)) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })

export type BenchRequest = {
  readonly agent: Agent
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array
}

/** Returns the status and the whole body. Rejects with the error of the connection if the response does not arrive. */
export async function sendRequest(
  url: string,
  { agent, method = 'GET', headers = {}, body }: BenchRequest,
): Promise<readonly [status: number, body: Buffer]> {
  const sent = { ...(await AUTHORIZED.get(new URL(url).port)?.({ method, url })), ...headers }
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const outgoing = request(url, { method, agent, headers: { ...sent, ...length } }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => resolve([incoming.statusCode!, Buffer.concat(chunks)]))
      incoming.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
