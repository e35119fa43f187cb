/** Answers each request with what it is told to, 200 but where that says another `status`: for answers that no engine can be brought to, or not here. */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { ProxiedRequest } from './opensearch-proxy.ts'

export type AnsweringEngine = {
  readonly endpoint: string
  readonly requests: readonly ProxiedRequest[]
  readonly close: () => Promise<void>
}

export async function startAnsweringEngine(answerTo: (request: ProxiedRequest) => object): Promise<AnsweringEngine> {
  const requests: ProxiedRequest[] = []
  const server = createServer(async (request, response) => {
    const passing = { method: request.method!, path: request.url!, body: await text(request) }
    requests.push(passing)
    const answer: { readonly status?: number } = answerTo(passing)
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { endpoint: `http://127.0.0.1:${port}`, requests, close }
}
