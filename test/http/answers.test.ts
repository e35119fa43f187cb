/** Clients that ask and do not read: the memory their answers take has an end, and others go on. Real sockets; outcomes are counted. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, expect, it } from '@jest/globals'
import type { BundlePage } from '../../lambdas/fhir/bundle.ts'
import { eventually } from '../fixtures/eventually.ts'
import { openConnection, startTestServer, type TestServer } from './front.ts'

const SIZE = 20_000_000
const bytes = new Uint8Array(SIZE).fill(32)
const GET = 'GET /Patient/1 HTTP/1.1\r\nhost: localhost\r\n\r\n'

let front: TestServer
afterEach(() => front.close())

it('the oldest unread responses are closed beyond the limit, and readers get whole responses', async () => {
  front = await startTestServer(async () => ({ status: 200, body: bytes }), { maxRequests: 100, mostAnswers: 3 * SIZE })
  let open = 0
  front.http.on('connection', (socket) => {
    open++
    socket.once('close', () => open--)
  })
  const lines = []
  for (let i = 0; i < 10; i++) {
    const line = openConnection(front.port)
    line.socket.pause()
    line.socket.write(GET)
    await eventually(() => front.audited.length > i)
    lines.push(line)
  }
  await eventually(() => open === 3)
  const whole = await (
    await fetch(`http://127.0.0.1:${front.port}/Patient/1`, { headers: { 'accept-encoding': 'identity' } })
  ).arrayBuffer()
  expect(whole.byteLength).toBe(SIZE)
  for (const { socket } of lines) socket.destroy()
  expect(front.reported).toEqual([])
})

it('a single response is sent, however large', async () => {
  front = await startTestServer(async () => ({ status: 200, body: bytes }), { mostAnswers: 1_000 })
  const answer = await fetch(`http://127.0.0.1:${front.port}/Patient/1`, { headers: { 'accept-encoding': 'identity' } })
  expect((await answer.arrayBuffer()).byteLength).toBe(SIZE)
})

/** Bundle of so many resources of 300 kB. */
function pageOf(count: number): BundlePage {
  const resource = new TextEncoder().encode(JSON.stringify({ resourceType: 'Basic', code: { text: 'x'.repeat(300_000) } }))
  return { kind: 'bundle', type: 'searchset', link: [], entries: Array.from({ length: count }, () => ({ resource })) }
}

it.each(['identity', 'gzip'])('a Bundle in pieces arrives whole: %s', async (encoding) => {
  front = await startTestServer(async () => ({ status: 200, body: pageOf(30) }))
  const ask = (method: string) => fetch(`http://127.0.0.1:${front.port}/Patient`, { method, headers: { 'accept-encoding': encoding } })
  const whole = await ask('GET')
  const bundle = (await whole.json()) as { readonly entry: readonly { readonly resource: { readonly code: { readonly text: string } } }[] }
  expect([whole.headers.get('content-encoding') ?? 'identity', bundle.entry.length]).toEqual([encoding, 30])
  expect(new Set(bundle.entry.map(({ resource }) => resource.code.text.length))).toEqual(new Set([300_000]))
  const head = await ask('HEAD')
  expect([head.headers.get('content-length'), await head.text()]).toEqual([whole.headers.get('content-length'), ''])
})

it('a client that does not read is sent one piece at most, and frees it on disconnect', async () => {
  front = await startTestServer(async () => ({ status: 200, body: pageOf(100) }), { mostAnswers: 40_000_000 })
  const answers: ServerResponse[] = []
  front.http.on('request', (_, outgoing: ServerResponse) => answers.push(outgoing))
  const { socket } = openConnection(front.port)
  socket.pause()
  socket.write(GET)
  await eventually(() => answers[0]?.headersSent === true && answers[0].writableNeedDrain)
  expect(answers[0]!.writableLength).toBeLessThan(400_000)
  const closed = once(answers[0]!, 'close')
  socket.destroy()
  await closed
  // It no longer counts: two of these together would be too many.
  const whole = await fetch(`http://127.0.0.1:${front.port}/Patient`, { headers: { 'accept-encoding': 'identity' } })
  expect((await whole.arrayBuffer()).byteLength).toBeGreaterThan(30_000_000)
  expect(front.reported).toEqual([])
})

it('responses beyond the limit of compression are sent whole and uncompressed', async () => {
  let asked = 0
  const all = Promise.withResolvers<void>()
  const answer = async () => {
    if (++asked === 3) all.resolve()
    await all.promise
    return { status: 200, body: bytes }
  }
  front = await startTestServer(answer, { mostCompressing: SIZE })
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${front.port}/Patient`, { headers: { 'accept-encoding': 'gzip' } })
    return [response.headers.get('content-encoding') ?? 'identity', (await response.arrayBuffer()).byteLength] as const
  }
  const answers = await Promise.all([ask(), ask(), ask()])
  expect(answers.map(([encoding]) => encoding).toSorted()).toEqual(['gzip', 'identity', 'identity'])
  expect(answers.map(([, length]) => length)).toEqual([SIZE, SIZE, SIZE])
})
