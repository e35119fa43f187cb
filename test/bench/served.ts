/** What the benches over HTTP share: a server in a process of its own, as `npm start` starts it, and a client that costs little. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Agent, type OutgoingHttpHeaders, request } from 'node:http'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: { readonly start: string } }
/** What follows `node`. */
const ofStart = scripts.start.split(' ').slice(1)

/** `ready`: milliseconds until it answers. */
export type Running = { readonly child: ChildProcess; readonly ready: number }

/** The command that starts the server: node and its arguments. */
export const startCommand = (port: number, data: string): readonly string[] => [
  process.execPath,
  ...ofStart,
  '--port',
  String(port),
  '--data',
  data,
]

/** `before`: a command the server is started by, with its arguments. */
export function start(port: number, data: string, ...before: readonly string[]): Promise<Running> {
  const began = performance.now()
  const [command, ...args] = [...before, ...startCommand(port, data)]
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return new Promise((resolve) => {
    child.stdout!.on('data', (text) => String(text).includes('FHIR R4 server') && resolve({ child, ready: performance.now() - began }))
  })
}

export const stop = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })

export type Asked = {
  readonly agent: Agent
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array
}

/** Status and body, when the last byte is there; an Error with its code when that does not come. */
export function ask(url: string, { agent, method = 'GET', headers = {}, body }: Asked): Promise<readonly [status: number, body: Buffer]> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const outgoing = request(url, { method, agent, headers: { ...headers, ...length } }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => resolve([incoming.statusCode!, Buffer.concat(chunks)]))
      incoming.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
