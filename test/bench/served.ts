/** What the benches over HTTP share: a server in a process of its own, as `npm start` starts it, and a client that costs little. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Agent, type OutgoingHttpHeaders, request } from 'node:http'
import type { Authorize } from '../../bin/client/http-post.ts'
import { renewingAuthorizer } from '../../bin/client/token-renewal.ts'
import { requestServerToken } from '../../lambdas/runtime/control/token-command.ts'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: { readonly start: string } }
/** What follows `node`. */
const startOptions = scripts.start.replace(/^exec node /, '').split(' ')

/** Of the servers that ask for a token, by their ports. */
const AUTHORIZED = new Map<string, Authorize>()

/** Requests to the server carry an administrator's token from now on. */
export function authorizeRequests(port: number, data: string): Authorize | undefined {
  if (process.env.FHIR_ACCESS === 'open') return undefined
  const get = async () => (await requestServerToken({ folder: data }, { isAdministrator: true, tenant: 'default' })) ?? ''
  const authorize = renewingAuthorizer(get)
  AUTHORIZED.set(String(port), authorize)
  return authorize
}

/** Those that a bench started and that have not ended. */
const STARTED = new Set<ChildProcess>()

/** It is ended with the bench, by `stopAll`, whatever became of what was measured. */
export function trackProcess(child: ChildProcess): ChildProcess {
  STARTED.add(child)
  return child.once('exit', () => STARTED.delete(child))
}

export const stopAll = async (): Promise<void> => void (await Promise.all([...STARTED].map(stopProcess)))

/** `ready`: milliseconds until it answers. `authorize`: where it asks for a token. */
export type StartedServer = { readonly child: ChildProcess; readonly ready: number; readonly authorize?: Authorize }

/** The command that starts the server: node and its arguments. */
export const startCommand = (port: number, data: string): readonly string[] => [
  process.execPath,
  ...startOptions,
  '--port',
  String(port),
  '--data',
  data,
]

/** `before`: a command the server is started by, with its arguments: it is to end the server when it is ended. Rejects where it ends before it answers. */
export function startServer(port: number, data: string, ...before: readonly string[]): Promise<StartedServer> {
  const began = performance.now()
  const [command, ...args] = [...before, ...startCommand(port, data)]
  const child = trackProcess(spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] }))
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the server on port ${port} ended before it answered`)))
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

/** Status and body, when the last byte is there; an Error with its code when that does not come. */
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
