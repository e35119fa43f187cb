/** Bodies that come slowly, or are many and large: nobody else waits for them, and the memory they take has an end. Real sockets; outcomes are counted. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { implicitToken } from '../../lambdas/access/verification/verified-token.ts'
import { ChunkBuffer } from '../../lambdas/fhir/chunk-buffer.ts'
import type { Authenticator } from '../../lambdas/http/steps/authenticate.ts'
import type { FhirRequest, FhirResponse } from '../../lambdas/interactions/interaction.ts'
import { eventually } from '../fixtures/eventually.ts'
import { holdIntervals, releaseIntervals } from '../fixtures/test-intervals.ts'
import { waitTurns } from '../fixtures/turns.ts'
import { openConnection, patientTextOf, requestHeadOf, startTestServer, type TestConnection, type TestServer } from './front.ts'

/** `[408, 408, 200]` → `{ 408: 2, 200: 1 }`. */
function counted(answers: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) {
    const [, status = 'none'] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? []
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

let front: TestServer
const lines: TestConnection[] = []
const open = (sent: string): TestConnection => {
  const line = openConnection(front.port, sent)
  lines.push(line)
  return line
}

afterEach(async () => {
  releaseIntervals()
  for (const { socket } of lines.splice(0)) socket.destroy()
  // Tests of chunks need no server.
  const opened: TestServer | undefined = front
  await opened?.close()
})

const ok = async (): Promise<FhirResponse> => ({ status: 200 })
const statusOf = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${front.port}${path}`)).status

/** Waits until node has handed over so many requests. */
async function handedOver(count: number, send: () => void): Promise<void> {
  let seen = 0
  const all = new Promise<void>((resolve) => front.http.on('request', () => ++seen === count && resolve()))
  send()
  await all
}

describe('an unauthenticated request', () => {
  const known: Authenticator = ({ headers }) => (headers.authorization === undefined ? undefined : implicitToken('app'))
  const TOKEN = ['authorization: Bearer x']

  it('uses no memory for its body, and displaces no other body', async () => {
    const reached: string[] = []
    const answer = async ({ id }: FhirRequest) => {
      reached.push(id!)
      return { status: 200 }
    }
    // All bodies together may have 16 times the longest.
    front = await startTestServer(answer, { maxBody: 60_000 }, undefined, known)
    const waiting = open(requestHeadOf(50_000, 'mine', TOKEN) + patientTextOf(50_000, 'mine').slice(0, 49_999))
    await handedOver(100, () => {
      for (let i = 0; i < 100; i++) open(requestHeadOf(60_000, String(i)) + patientTextOf(60_000).slice(0, 59_999))
    })
    await eventually(() => lines.length === 101 && lines.slice(1).every(({ socket }) => socket.writableLength === 0))
    for (const { socket } of lines.slice(1)) socket.write(' ')
    await Promise.all(lines.slice(1).map((line) => line.until(/\r\n\r\n/)))
    waiting.socket.write(' ')
    await waiting.until(/\r\n\r\n/)
    expect(counted(lines.map(({ text }) => text()))).toEqual({ 200: 1, 401: 100 })
    expect(reached).toEqual(['mine'])
    expect(front.audited).toHaveLength(101)
    expect(front.audited[0]).toMatchObject({ interaction: 'update', key: expect.stringMatching(/^Patient\/\d+$/), status: 401 })
  })

  it.each([
    ['/Patient', 'too long', 60_001],
    ['/auth/nothing', 'of nothing', 100],
  ])('is rejected before its body is read: %s, body %s', async (path, _, bytes) => {
    front = await startTestServer(ok, { maxBody: 60_000 }, undefined, known)
    const response = await fetch(`http://127.0.0.1:${front.port}${path}`, { method: 'POST', body: 'x'.repeat(bytes) })
    expect(response.status).toBe(path === '/Patient' ? 401 : 404)
  })

  it('is authenticated once, before its body arrives', async () => {
    let asked = 0
    const late: Authenticator = () => (++asked === 1 ? undefined : implicitToken('app'))
    front = await startTestServer(ok, {}, undefined, late)
    const response = await fetch(`http://127.0.0.1:${front.port}/Patient/_search`, {
      method: 'POST',
      body: new URLSearchParams({ name: 'a' }),
    })
    expect([response.status, asked]).toEqual([401, 1])
  })

  it('leaves nothing behind if it disconnects before authentication ends', async () => {
    let letIn: (() => void) | undefined
    const slow: Authenticator = () => new Promise((resolve) => (letIn = () => resolve(implicitToken('app'))))
    let reached = 0
    const answer = async () => ({ status: 200, headers: { count: String(++reached) } })
    holdIntervals()
    front = await startTestServer(answer, { tick: 1 }, undefined, slow)
    const closed = new Promise<void>((resolve) => front.http.on('connection', (socket) => socket.on('close', () => resolve())))
    const line = open(`${requestHeadOf(900)}{`)
    await eventually(() => letIn !== undefined)
    line.socket.resetAndDestroy()
    await closed
    letIn!()
    // A body that is still waited for would be told so after ten ticks.
    await waitTurns(20)
    jest.advanceTimersByTime(100)
    await waitTurns(20)
    expect([reached, front.reported, front.audited]).toEqual([0, [], []])
  })
})

describe('slow senders', () => {
  it('delay no other response if there are 1,100, and time out', async () => {
    front = await startTestServer(ok, { maxRequests: 10, tick: 150 })
    const slow: TestConnection[] = []
    await handedOver(1_100, () => {
      for (let i = 0; i < 1_100; i++) slow.push(open(`${requestHeadOf(900, String(i))}{`))
    })
    const others = await Promise.all(['/metadata', '/Patient/1', '/Patient?name=a', '/metadata', '/Patient/2'].map(statusOf))
    expect(others).toEqual([200, 200, 200, 200, 200])
    expect(counted(await Promise.all(slow.map(({ ended }) => ended)))).toEqual({ 408: 1_100 })
    expect(front.audited.filter(({ status }) => status === 408)).toHaveLength(1_100)
    expect(JSON.parse(slow[0]!.text().split('\r\n\r\n')[1]!)).toMatchObject({ issue: [{ severity: 'error', code: 'timeout' }] })
    expect(front.reported).toEqual([])
  })

  it('are accepted while their bytes keep arriving', async () => {
    holdIntervals()
    front = await startTestServer(ok, { maxBody: 1_000_000, tick: 10 })
    const connected = once(front.http, 'connection')
    const line = open(requestHeadOf(600_000))
    const [socket] = (await connected) as [Socket]
    const text = patientTextOf(600_000)
    for (let sent = 0; sent < 600_000; sent += 20_000) {
      expect(line.text()).toBe('')
      line.socket.write(text.slice(sent, sent + 20_000))
      await eventually(() => socket.closed || socket.bytesRead >= requestHeadOf(600_000).length + sent + 20_000)
      jest.advanceTimersByTime(10)
    }
    expect(counted([await line.until(/\r\n\r\n/)])).toEqual({ 200: 1 })
  })

  it('time out if they start quickly and then stop', async () => {
    front = await startTestServer(ok, { maxBody: 100_000, tick: 20 })
    const line = open(requestHeadOf(90_000) + patientTextOf(90_000).slice(0, 60_000))
    expect(counted([await line.ended])).toEqual({ 408: 1 })
  })

  it('leave nothing behind if they disconnect', async () => {
    front = await startTestServer(ok, { maxBody: 1_000, tick: 10 })
    const gone = open(`${requestHeadOf(900)}{`)
    await once(front.http, 'request')
    gone.socket.resetAndDestroy()
    expect(counted([await open(requestHeadOf(900, '2') + patientTextOf(900, '2')).until(/\r\n\r\n/)])).toEqual({ 200: 1 })
    expect([front.audited.map(({ key }) => key), front.reported]).toEqual([['Patient/2'], []])
  })
})

describe('many bytes of bodies', () => {
  /** Of the greatest length: so many are held. */
  const MOST = 16
  const SIZE = 50_000

  it('reject the oldest large bodies with 503, and accept bodies sent at once', async () => {
    front = await startTestServer(ok, { maxBody: SIZE, maxRequests: 1_000, tick: 60_000 })
    const held: TestConnection[] = []
    await handedOver(60, () => {
      for (let i = 0; i < 60; i++) held.push(open(requestHeadOf(SIZE, String(i)) + patientTextOf(SIZE, String(i)).slice(0, SIZE - 1)))
    })
    const quick = open(requestHeadOf(2_000, 'quick') + patientTextOf(2_000, 'quick'))
    expect(counted([await quick.until(/\r\n\r\n/)])).toEqual({ 200: 1 })
    await eventually(() => held.filter(({ text }) => text() !== '').length >= 60 - MOST)
    const refused = held.filter(({ text }) => text() !== '')
    expect(counted(refused.map(({ text }) => text()))).toEqual({ 503: refused.length })
    expect(refused.length - (60 - MOST)).toBeLessThanOrEqual(1)
    for (const { text } of refused) expect(text()).toMatch(/retry-after: 1\r\n/i)
    const rest = held.filter(({ text }) => text() === '')
    for (const { socket } of rest) socket.write(' ')
    expect(counted(await Promise.all(rest.map(({ until }) => until(/\r\n\r\n/))))).toEqual({ 200: rest.length })
  })

  it('count until their response is sent', async () => {
    const waiting: (() => void)[] = []
    front = await startTestServer(
      ({ id }) => (id === 'free' ? ok() : new Promise((resolve) => waiting.push(() => resolve({ status: 200 })))),
      {
        maxBody: SIZE,
        maxRequests: 1_000,
        tick: 60_000,
      },
    )
    const worked = Array.from({ length: MOST }, (_, i) => open(requestHeadOf(SIZE, String(i)) + patientTextOf(SIZE, String(i))))
    await eventually(() => waiting.length === MOST)
    expect(counted([await open(requestHeadOf(900, 'free') + patientTextOf(900, 'free')).until(/\r\n\r\n/)])).toEqual({ 503: 1 })
    for (const answer of waiting) answer()
    expect(counted(await Promise.all(worked.map(({ until }) => until(/\r\n\r\n/))))).toEqual({ 200: MOST })
    expect(counted([await open(requestHeadOf(900, 'free') + patientTextOf(900, 'free')).until(/\r\n\r\n/)])).toEqual({ 200: 1 })
  })

  it('are not retained for a body that is too long', async () => {
    front = await startTestServer(ok, { maxBody: 1_000, tick: 60_000 })
    const long = Array.from({ length: 40 }, () => open(requestHeadOf(3_500) + patientTextOf(3_500)))
    expect(counted(await Promise.all(long.map(({ until }) => until(/\r\n\r\n/))))).toEqual({ 413: 40 })
    const endless = open(requestHeadOf(1_000_000) + patientTextOf(100_000))
    expect(counted([await endless.ended])).toEqual({ 413: 1 })
    expect(front.audited.map(({ interaction }) => interaction)).toEqual(Array(41).fill('update'))
  })
})

describe('the chunks of a body', () => {
  it('are joined unchanged, whatever their size', () => {
    for (const sizes of [
      [],
      [5],
      [1, 1, 1],
      [20_000, 1, 30_000],
      [1, 20_000, 1, 1],
      Array(5_000).fill(3),
      [3, ...Array(40).fill(15_000), 70_000],
    ]) {
      const chunks = sizes.map((size, i) => Buffer.alloc(size, i + 1))
      const gathered = new ChunkBuffer()
      for (const chunk of chunks) gathered.add(chunk)
      const whole = Buffer.concat(chunks)
      expect([gathered.size, Buffer.compare(gathered.bytes(), whole)]).toEqual([whole.length, 0])
    }
  })
})
