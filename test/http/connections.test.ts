/** Many connections, heads that never end, and clients that do not wait for answers: everybody else is answered. Real sockets; outcomes are counted. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import type { FhirResponse } from '../../lambdas/interactions/interaction.ts'
import { eventually } from '../fixtures/eventually.ts'
import { holdIntervals, releaseIntervals } from '../fixtures/test-intervals.ts'
import { waitTurns } from '../fixtures/turns.ts'
import { openConnection, patientTextOf, requestHeadOf, startTestServer, type TestServer } from './front.ts'

let front: TestServer
afterEach(() => {
  releaseIntervals()
  return front.close()
})

const ok = async (): Promise<FhirResponse> => ({ status: 200 })
const GET = 'GET /Patient/1 HTTP/1.1\r\nhost: localhost\r\n\r\n'
const statuses = (text: string): readonly string[] => text.match(/HTTP\/1\.1 \d+/g) ?? []
const many = <T>(count: number, each: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => each(i))

describe('connections', () => {
  it('close the longest idle one beyond the maximum', async () => {
    front = await startTestServer(ok, { mostConnections: 3 })
    const [first, second, third] = [openConnection(front.port), openConnection(front.port), openConnection(front.port)]
    for (const line of [second, third, first]) {
      line.socket.write(GET)
      await line.until(/ 200 /)
    }
    const fourth = openConnection(front.port, GET)
    await fourth.until(/ 200 /)
    await second.ended
    expect([first, third, fourth].map(({ socket }) => socket.destroyed)).toEqual([false, false, false])
  })

  it('are not closed during a response while others are idle', async () => {
    const size = 20_000_000
    const large: FhirResponse = { status: 200, headers: { 'content-type': 'image/png' }, body: new Uint8Array(size) }
    front = await startTestServer(async ({ id }) => (id === 'large' ? large : { status: 200 }), { mostConnections: 2 })
    const slow = openConnection(front.port)
    slow.socket.write(GET.replace('/1', '/large'))
    await once(slow.socket, 'data')
    slow.socket.pause()
    const idle = openConnection(front.port, GET)
    await idle.until(/ 200 /)
    await openConnection(front.port, GET).until(/ 200 /)
    await idle.ended
    slow.socket.resume()
    await eventually(() => slow.text().length > size)
  })

  it('are not closed during a request: then the new one is', async () => {
    let asked = 0
    let answer: () => void = () => undefined
    const slow = (): Promise<FhirResponse> => {
      asked++
      return new Promise((resolve) => (answer = () => resolve({ status: 200 })))
    }
    front = await startTestServer(slow, { mostConnections: 1 })
    const busy = openConnection(front.port, GET)
    await eventually(() => asked === 1)
    expect(await openConnection(front.port, GET).ended).toBe('')
    answer()
    await busy.until(/ 200 /)
  })
})

describe('incomplete heads', () => {
  const half = (bytes: number): string => `GET /Patient/1 HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(bytes)}`

  it('are rejected beyond the limit, the longest first', async () => {
    front = await startTestServer(ok, { mostHeads: 400_000 })
    const [short, ...long] = [openConnection(front.port, half(1_000)), ...many(3, () => openConnection(front.port, half(300_000)))]
    const told = await Promise.race(long.map(({ ended }) => ended))
    expect([statuses(told), told.includes('"throttled"')]).toEqual([['HTTP/1.1 503'], true])
    await eventually(() => long.filter(({ socket }) => socket.destroyed).length === 2)
    short!.socket.write('\r\n\r\n')
    await short!.until(/ 200 /)
  })

  it('do not include finished requests', async () => {
    holdIntervals()
    front = await startTestServer(ok, { mostHeads: 10_000, maxBody: 100_000 })
    const line = openConnection(front.port, requestHeadOf(50_000) + patientTextOf(50_000))
    await line.until(/ 200 /)
    jest.advanceTimersByTime(500)
    line.socket.write(GET)
    await eventually(() => statuses(line.text()).length === 2)
    expect(statuses(line.text())).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
  })
})

describe('pipelined requests', () => {
  it('are processed one after the other', async () => {
    let [underWay, most] = [0, 0]
    front = await startTestServer(async () => {
      most = Math.max(most, ++underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay--
      return { status: 200 }
    })
    const line = openConnection(
      front.port,
      requestHeadOf(100) + patientTextOf(100) + GET.repeat(100) + requestHeadOf(100) + patientTextOf(100),
    )
    await eventually(() => statuses(line.text()).length === 102)
    expect([most, new Set(statuses(line.text()))]).toEqual([1, new Set(['HTTP/1.1 200'])])
  })

  it('are started one per turn of the event loop', async () => {
    let [inTurn, most] = [0, 0]
    front = await startTestServer(async () => {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0))
      most = Math.max(most, inTurn)
      return { status: 200 }
    })
    const line = openConnection(front.port, GET.repeat(200))
    await eventually(() => statuses(line.text()).length === 200)
    expect(most).toBe(1)
  })

  it('are not started once their client has disconnected', async () => {
    let asked = 0
    const first = Promise.withResolvers<FhirResponse>()
    front = await startTestServer(() => {
      asked++
      return first.promise
    })
    const connected = once(front.http, 'connection')
    const line = openConnection(front.port, GET.repeat(50))
    const [socket] = (await connected) as [Socket]
    await eventually(() => asked === 1)
    line.socket.resetAndDestroy()
    await eventually(() => socket.closed)
    first.resolve({ status: 200 })
    await waitTurns(200)
    expect(asked).toBe(1)
  })
})
