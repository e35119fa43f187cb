/** Clients that ask and do not read: the memory their answers take has an end, and others go on. Real sockets; outcomes are counted. */
import { afterEach, expect, it } from '@jest/globals'
import { comes, dial, type Front, startFront } from './front.ts'

const SIZE = 20_000_000
const bytes = new Uint8Array(SIZE).fill(32)
const GET = 'GET /Patient/1 HTTP/1.1\r\nhost: localhost\r\n\r\n'

let front: Front
afterEach(() => front.close())

it('of too many bytes of answers the oldest give way, and who reads gets all of an answer', async () => {
  front = await startFront(async () => ({ status: 200, body: bytes }), { maxRequests: 100, mostAnswers: 3 * SIZE })
  let open = 0
  front.http.on('connection', (socket) => {
    open++
    socket.once('close', () => open--)
  })
  const lines = []
  for (let i = 0; i < 10; i++) {
    const line = dial(front.port)
    line.socket.pause()
    line.socket.write(GET)
    await comes(() => front.audited.length > i)
    lines.push(line)
  }
  await comes(() => open === 3)
  const whole = await (
    await fetch(`http://127.0.0.1:${front.port}/Patient/1`, { headers: { 'accept-encoding': 'identity' } })
  ).arrayBuffer()
  expect(whole.byteLength).toBe(SIZE)
  for (const { socket } of lines) socket.destroy()
  expect(front.reported).toEqual([])
})

it('one answer is sent, however large', async () => {
  front = await startFront(async () => ({ status: 200, body: bytes }), { mostAnswers: 1_000 })
  const answer = await fetch(`http://127.0.0.1:${front.port}/Patient/1`, { headers: { 'accept-encoding': 'identity' } })
  expect((await answer.arrayBuffer()).byteLength).toBe(SIZE)
})
