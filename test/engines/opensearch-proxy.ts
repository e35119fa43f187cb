/** Stands before an engine and does to requests what networks and overloaded engines do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

export type ProxiedRequest = { readonly method: string; readonly path: string; readonly body: string }

/**
 * `status`: answered instead of the engine. `drop`: the connection ends, before or after the engine did it. `garble`: half of the answer.
 * `silence`: no answer, although the engine did it. `refuse`: the engine does not see these documents, and this status is answered for each. `shards`: it is answered for so many of them only.
 */
export type ProxyFault =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'drop'; readonly when: 'before' | 'after' }
  | { readonly kind: 'garble' | 'silence' }
  | { readonly kind: 'shards'; readonly successful: number; readonly failed: number }
  | { readonly kind: 'refuse'; readonly ids: readonly string[]; readonly status: number }

export type FaultyEngine = { readonly endpoint: string; readonly close: () => Promise<void> }

export async function startFaultyProxy(endpoint: string, plan: (request: ProxiedRequest) => ProxyFault | undefined): Promise<FaultyEngine> {
  const server = createServer((request, response) => {
    handle(endpoint, plan, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function handle(
  endpoint: string,
  plan: (request: ProxiedRequest) => ProxyFault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const passing = { method: request.method!, path: request.url!, body: await text(request) }
  const fault = plan(passing)
  if (fault?.kind === 'drop' && fault.when === 'before') return response.destroy()
  if (fault?.kind === 'status') return answer(response, fault.status, JSON.stringify({ error: { type: 'injected' }, status: fault.status }))
  const isRefused = fault?.kind === 'refuse'
  const lines = isRefused ? linesWithout(passing.body, fault.ids) : passing.body
  const { status, body } =
    isRefused && lines === '' ? { status: 200, body: '{"items":[]}' } : await forward(endpoint, request, { ...passing, body: lines })
  if (fault?.kind === 'drop') return response.destroy()
  if (fault?.kind === 'silence') return undefined
  if (fault?.kind === 'garble') return answer(response, status, body.slice(0, body.length / 2))
  if (fault?.kind === 'shards') return answer(response, status, withShards(fault, body))
  return answer(response, status, isRefused ? withRefused(passing.body, fault.ids, fault.status, body) : body)
}

async function forward(endpoint: string, { headers }: IncomingMessage, { method, path, body }: ProxiedRequest) {
  const type = headers['content-type']
  const content = body === '' ? {} : { body, headers: { 'content-type': type ?? 'application/json' } }
  const response = await fetch(`${endpoint}${path}`, { method, ...content })
  return { status: response.status, body: await response.text() }
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

const withShards = ({ successful, failed }: { readonly successful: number; readonly failed: number }, body: string): string =>
  JSON.stringify({ ...(JSON.parse(body) as object), _shards: { total: 2, successful, failed } })

type Action = { readonly index: { readonly _id: string } }

const actionsOf = (body: string): readonly (readonly [action: string, document: string])[] => {
  const lines = body.trimEnd().split('\n')
  return Array.from({ length: lines.length / 2 }, (_, i) => [lines[2 * i]!, lines[2 * i + 1]!])
}

const isAmong = (action: string, ids: readonly string[]): boolean => {
  const { _id } = (JSON.parse(action) as Action).index
  return ids.some((id) => _id.endsWith(`~${id}`))
}

const linesWithout = (body: string, ids: readonly string[]): string =>
  actionsOf(body)
    .filter(([action]) => !isAmong(action, ids))
    .map((lines) => `${lines.join('\n')}\n`)
    .join('')

function withRefused(body: string, ids: readonly string[], status: number, answer: string): string {
  const rest = [...(JSON.parse(answer) as { readonly items: readonly object[] }).items]
  const refused = { index: { status, error: { type: 'injected' } } }
  return JSON.stringify({ errors: true, items: actionsOf(body).map(([action]) => (isAmong(action, ids) ? refused : rest.shift())) })
}
