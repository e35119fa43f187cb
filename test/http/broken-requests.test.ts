/** What node:http refuses is answered as the server answers: with an OperationOutcome, an audit record, and nothing of the machine. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { requestOf } from '../../lambdas/http/gateway-event.ts'
import type { FhirResponse } from '../../lambdas/interactions/interaction.ts'
import { eventually } from '../fixtures/eventually.ts'
import { openConnection, patientTextOf, requestHeadOf, startTestServer, type TestServer } from './front.ts'

let front: TestServer
afterEach(() => front.close())

const ok = async (): Promise<FhirResponse> => ({ status: 200 })
const get = (...lines: readonly string[]): string => ['GET /Patient/1 HTTP/1.1', ...lines, '', ''].join('\r\n')

/** Status and issue of each answer there is. */
const told = (text: string) =>
  text.split(/(?=HTTP\/1\.1 \d)/).map((answer) => [Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), /"code":"([\w-]+)"/.exec(answer)?.[1]])

describe('a malformed request', () => {
  it.each([
    ['no HTTP', 'HELLO\r\n\r\n', 400, 'structure'],
    ['a letter in the URL that is not ASCII', 'GET /Patient?name=Müller HTTP/1.1\r\nhost: localhost\r\n\r\n', 400, 'value'],
    ['a header without a name', get('host: localhost', ': x'), 400, 'structure'],
    ['two lengths', get('host: localhost', 'content-length: 1', 'content-length: 2'), 400, 'structure'],
    ['a length and chunks', get('host: localhost', 'content-length: 1', 'transfer-encoding: chunked'), 400, 'structure'],
    ['a broken chunk', `${get('host: localhost', 'transfer-encoding: chunked')}nonsense\r\n`, 400, 'structure'],
    ['a long head', get('host: localhost', `x-long: ${'x'.repeat(600_000)}`), 431, 'too-long'],
    ['long chunk extensions', `${get('host: localhost', 'transfer-encoding: chunked')}1;${'x'.repeat(20_000)}\r\n`, 413, 'too-long'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: localhost\r\n\r\n', 405, 'not-supported'],
  ])('is answered with an OperationOutcome, an audit record and a closed connection: %s', async (_, sent, status, code) => {
    front = await startTestServer(ok)
    const text = await openConnection(front.port, sent).ended
    expect([told(text), /"resourceType":"OperationOutcome"/.test(text)]).toEqual([[[status, code]], true])
    expect(text).toMatch(/\r\nx-request-id: made-id\r\n/i)
    expect(text).toMatch(/\r\nconnection: close\r\n/i)
    expect(front.audited).toMatchObject([{ interaction: 'fallback', status, requestId: 'made-id' }])
    expect(front.reported).toEqual([])
  })

  it('is answered after the preceding requests', async () => {
    let answer: (response: FhirResponse) => void = () => undefined
    front = await startTestServer(() => new Promise((resolve) => (answer = resolve)))
    const line = openConnection(front.port, `${get('host: localhost')}HELLO\r\n\r\n`)
    await eventually(() => front.audited.length > 0)
    expect(line.text()).toBe('')
    answer({ status: 200 })
    expect(told(await line.ended).map(([status]) => status)).toEqual([200, 400])
  })

  it.each([
    ['a head', 'GET / HTTP/1.1\r\n'],
    ['a body', `${requestHeadOf(100)}{`],
  ])('is 408 if it times out within %s', async (_, sent) => {
    front = await startTestServer(ok)
    const connected = once(front.http, 'connection')
    const line = openConnection(front.port, sent)
    const [connection] = await connected
    await once(connection, 'data')
    // As node does when it looks at its connections, every 30 seconds.
    front.http.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), connection)
    expect(told(await line.ended)).toEqual([[408, 'timeout']])
    expect(front.audited).toMatchObject([{ interaction: 'fallback', status: 408 }])
  })

  it.each([
    ['a head', 'GET / HTTP/1.1\r\n'],
    ['a body', `${requestHeadOf(100)}{`],
  ])('is 400 if it ends within %s', async (_, sent) => {
    front = await startTestServer(ok)
    const line = openConnection(front.port, sent)
    line.socket.end()
    expect(told(await line.ended)).toEqual([[400, 'structure']])
    expect(front.audited).toMatchObject([{ interaction: 'fallback', status: 400 }])
  })

  describe('a malformed request during processing', () => {
    /** Answers wait until it is opened. */
    let open: () => void = () => undefined
    let begun = 0
    const startWaiting = async () => {
      begun = 0
      const opened = new Promise<void>((resolve) => (open = resolve))
      front = await startTestServer(ok, {}, (serve) => async (http, requestId) => {
        begun++
        await opened
        return serve(http, requestId)
      })
    }

    it('is answered once, with 413 for a long body', async () => {
      await startWaiting()
      const line = openConnection(front.port, `${requestHeadOf(10_000)}${'x'.repeat(5_000)}`)
      await eventually(() => begun > 0)
      const broken = once(front.http, 'clientError')
      line.socket.end()
      await broken
      open()
      expect(told(await line.ended)).toEqual([[413, 'too-long']])
      expect([begun, front.audited.length, front.reported]).toEqual([1, 1, []])
    })

    it('is answered once, with 408 for a late body', async () => {
      await startWaiting()
      const connected = once(front.http, 'connection')
      const line = openConnection(front.port, `${requestHeadOf(100)}{`)
      const [connection] = await connected
      await once(connection, 'data')
      front.http.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), connection)
      const rest = once(connection, 'data')
      line.socket.write(' '.repeat(99))
      await rest
      await new Promise((resolve) => setImmediate(resolve))
      open()
      expect(told(await line.ended)).toEqual([[408, 'timeout']])
      expect([begun, front.audited.length, front.reported]).toEqual([1, 1, []])
    })
  })

  it('is ignored once its client has disconnected', async () => {
    front = await startTestServer(ok)
    const { socket } = openConnection(front.port, 'GET / HT')
    await new Promise((resolve) => front.http.on('connection', resolve))
    socket.resetAndDestroy()
    expect((await fetch(`http://127.0.0.1:${front.port}/metadata`)).status).toBe(200)
    expect([front.audited.length, front.reported]).toEqual([1, []])
  })
})

describe('a tunnel', () => {
  it('leaves the server running if its client disconnects', async () => {
    front = await startTestServer(ok)
    const connected = once(front.http, 'connect')
    const { socket } = openConnection(front.port, 'CONNECT example.com:443 HTTP/1.1\r\nhost: localhost\r\n\r\n')
    const [, kept] = (await connected) as [unknown, Socket]
    const closed = new Promise((resolve) => kept.once('close', resolve))
    kept.emit('error', Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    socket.resetAndDestroy()
    await closed
    expect((await fetch(`http://127.0.0.1:${front.port}/metadata`)).status).toBe(200)
    expect(front.reported).toEqual([])
  })
})

describe('headers', () => {
  it.each([
    ['host', 'localhost', 400],
    // Joined, the two are not a local name.
    ['origin', 'http://localhost', 403],
    ['content-type', 'a/b', 400],
    ['authorization', 'a', 401],
    ['if-none-exist', 'a=b', 400],
    ['if-modified-since', 'a', 400],
    ['x-tenant-id', 'a', 400],
    ['x-security-context', 'a', 400],
  ])('reject a duplicate %s', async (name, value, status) => {
    front = await startTestServer(ok)
    const headers = name === 'host' ? [] : ['host: localhost']
    const sent = get(...headers, `${name}: ${value}`, `${name.toUpperCase()}: evil.example`, 'connection: close')
    expect(told(await openConnection(front.port, sent).ended).map(([answer]) => answer)).toEqual([status])
    expect(front.audited).toMatchObject([{ interaction: 'fallback', status }])
  })
  it('may otherwise repeat', async () => {
    front = await startTestServer(ok)
    const text = await openConnection(
      front.port,
      get('host: localhost', 'accept: */*', 'Accept: text/html', 'x-a: 1', 'x-a: 2', 'connection: close'),
    ).ended
    expect(told(text)).toEqual([[200, undefined]])
  })
  it('require Host in HTTP/1.1', async () => {
    front = await startTestServer(ok)
    expect(told(await openConnection(front.port, get('connection: close')).ended)).toEqual([[400, 'required']])
  })
  it('reject an unknown Expect with 417, and accept 100-continue', async () => {
    front = await startTestServer(ok)
    expect(told(await openConnection(front.port, get('host: localhost', 'expect: wonders', 'connection: close')).ended)).toEqual([
      [417, 'not-supported'],
    ])
    const line = openConnection(front.port, requestHeadOf(100, '1', ['expect: 100-continue', 'connection: close']))
    await line.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
    line.socket.write(patientTextOf(100))
    expect(told(await line.ended).map(([status]) => status)).toEqual([100, 200])
  })
  it('are checked alike behind a gateway', async () => {
    front = await startTestServer(ok)
    const event = (multiValueHeaders: Record<string, string[]>) =>
      requestOf({ httpMethod: 'GET', resource: '/metadata', multiValueHeaders })
    expect(event({ Host: ['a', 'b'] }).refused).toMatchObject({ status: 400 })
    expect(event({ Host: ['a'], host: ['b'] }).refused).toMatchObject({ status: 400 })
    expect(event({ Host: ['a'], Accept: ['a/b', 'c/d'] }).refused).toBeUndefined()
  })
})

describe('machine faults outside the steps', () => {
  const FAULT = new TypeError('a secret of the program')
  const answered = async (body = false) => {
    const init = body ? { method: 'PUT', body: patientTextOf(100), headers: { 'content-type': 'application/fhir+json' } } : {}
    const response = await fetch(`http://127.0.0.1:${front.port}/Patient/1`, init)
    return { status: response.status, id: response.headers.get('x-request-id'), text: await response.text() }
  }

  it.each([false, true])('are 500 with request id, report and audit record before the steps, with body: %s', async (body) => {
    front = await startTestServer(ok, {}, (serve) => (http, id) => {
      if (http.refused === undefined) throw FAULT
      return serve(http, id)
    })
    const { status, id, text } = await answered(body)
    expect([status, id]).toEqual([500, 'made-id'])
    expect(text).toContain('Request id: made-id')
    expect(text).not.toContain('secret')
    expect(front.reported).toEqual([FAULT])
    expect(front.audited).toMatchObject([{ interaction: 'fallback', status: 500, requestId: 'made-id' }])
  })

  it('are 500 after the steps if the response cannot be sent', async () => {
    front = await startTestServer(async () => ({ status: 200, headers: { location: 'Ā' } }))
    expect((await answered()).status).toBe(500)
    expect(front.reported).toMatchObject([{ code: 'ERR_INVALID_CHAR' }])
    expect(front.audited.map(({ status }) => status)).toEqual([200, 500])
  })

  it('are 500 with a report even if every part fails', async () => {
    front = await startTestServer(ok, {}, () => () => Promise.reject(FAULT))
    const { status, id, text } = await answered()
    expect([status, id, JSON.parse(text).resourceType]).toEqual([500, 'made-id', 'OperationOutcome'])
    expect(front.reported).toEqual([FAULT])
    expect(told(await openConnection(front.port, 'HELLO\r\n\r\n').ended)).toEqual([[500, 'exception']])
    expect(front.reported).toEqual([FAULT, FAULT])
  })
})
