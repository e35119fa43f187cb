/**
 * Downloads of export files by their links, over the network: access, ranges, and clients that are slow, disconnect or resume.
 * The tests count reads. https://www.rfc-editor.org/rfc/rfc9110#section-13, #section-14
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import type { Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import { fileKeyOf, JOB_ROWS, type Job } from '../../lambdas/export/job/job.ts'
import { linkSigner } from '../../lambdas/export/job/signed-links.ts'
import { fhirError } from '../../lambdas/fhir/outcome.ts'
import type { NodeServerSettings } from '../../lambdas/http/node-server.ts'
import { exportFile } from '../../lambdas/interactions/export/file.ts'
import { eventually } from '../fixtures/eventually.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { openConnection, startTestServer, type TestServer } from '../http/front.ts'

const MiB = 1024 * 1024
const NOW = Date.UTC(2031, 0, 1)
const UNTIL = NOW + 7 * 24 * 60 * 60 * 1000
const BASE = 'http://127.0.0.1'
const JOB = 'job-1'
const SMALL = Buffer.from('{"resourceType":"Patient","id":"1"}\n'.repeat(100))
const LARGE = Buffer.alloc(20 * MiB, '{"resourceType":"Observation","id":"0123456789"}\n')
/** More bytes than the socket buffers hold. */
const ENDLESS = 400 * MiB
/** Bytes that cannot be compressed. */
const NOISE = randomBytes(MiB)

const links = linkSigner(new Uint8Array(32).fill(7), BASE)
const rows = new MemoryRows()
let now = NOW
/** Content by key; a number stands for that many bytes of noise. */
let stored: Map<string, Buffer | number>
let reads: (readonly [key: string, from: number, to: number])[]
/** Number of reads that succeed. */
let patience: number

let front: TestServer
afterEach(() => front.close())

/** Records reads in the list of the current test: a download of the previous test may still read. */
const blobsNoting = (noted: typeof reads) => ({
  async get(key: string, range?: readonly [number, number]) {
    const kept = stored.get(key)
    const [from, to] = range!
    noted.push([key, from, to])
    if (kept === undefined || noted.length > patience) return undefined
    return { bytes: typeof kept === 'number' ? NOISE.subarray(0, to - from) : kept.subarray(from, to), contentType: '' }
  },
})

const TOKENS: Readonly<Record<string, Partial<VerifiedToken>>> = {
  mine: { client: 'app' },
  others: { client: 'other' },
  user: { client: 'app', subject: 'u-1' },
}

async function start(settings: Partial<NodeServerSettings> = {}): Promise<void> {
  const answer = exportFile({ clock: { now: () => now, newId: () => '' }, exports: { rows, blobs: blobsNoting(reads) }, links })
  front = await startTestServer(answer, { maxRequests: 100, ...settings }, undefined, ({ headers: { authorization } }) => {
    if (authorization === undefined) return undefined
    const token = TOKENS[authorization]
    if (token === undefined) throw fhirError(401, 'login', 'no token')
    return { tenant: 'north', subject: token.client!, scopes: [], clientAuth: 'assertion', expires: 0, issuer: BASE, client: '', ...token }
  })
}

beforeEach(async () => {
  now = NOW
  reads = []
  patience = Number.POSITIVE_INFINITY
  const files = [...['Patient', 'Observation', 'Endless', 'Removed'].entries()]
  const sizes = [SMALL.length, LARGE.length, ENDLESS, 10]
  stored = new Map<string, Buffer | number>([
    [fileKeyOf(JOB, 'Patient'), SMALL],
    [fileKeyOf(JOB, 'Observation'), LARGE],
    [fileKeyOf(JOB, 'Endless'), ENDLESS],
  ])
  const job = {
    ...{ id: JOB, tenant: 'north', client: 'app', state: 'complete', ended: NOW - 5_500 },
    files: files.map(([i, name]) => ({ name, kind: 'output', type: name, count: 1, size: sizes[i] })),
  } as unknown as Job
  await rows.change<Job>(JOB_ROWS, JOB, () => job)
  await start()
})

const linkTo = async (file: string, more = {}, until = UNTIL): Promise<string> =>
  (await links.sign({ job: JOB, file, client: 'app', ...more }, until)).slice(BASE.length)

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const sent = request({ port: front.port, host: '127.0.0.1', path, method, headers, agent: false }).end()
  const [response] = await once(sent, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }
}
const textOf = ({ body }: Answer): string => JSON.parse(body.toString()).issue[0].details.text

const VALIDATORS = { etag: '"job-1-Patient"', 'last-modified': new Date(NOW - 6_000).toUTCString(), vary: 'Accept-Encoding' }

describe('A file', () => {
  it('is sent whole, with validators for a later range request', async () => {
    const { status, headers, body } = await ask(await linkTo('Patient'), { accept: 'application/fhir+ndjson' })
    expect([status, body.equals(SMALL)]).toEqual([200, true])
    expect(headers).toMatchObject({
      ...VALIDATORS,
      ...{
        'content-type': 'application/fhir+ndjson',
        'content-length': String(SMALL.length),
        'content-disposition': 'attachment; filename="Patient.ndjson"',
        'accept-ranges': 'bytes',
        'cache-control': 'no-store',
      },
    })
    expect(front.audited).toMatchObject([{ interaction: 'export-file', tenant: 'north', client: 'app', job: JOB, status: 200 }])
  })

  it('is read in chunks of 128 KiB, whatever its size', async () => {
    const { body } = await ask(await linkTo('Observation'))
    expect(body.equals(LARGE)).toBe(true)
    expect(reads.length).toBe(1 + (8 * LARGE.length) / MiB)
    expect(Math.max(...reads.map(([, from, to]) => to - from))).toBe(MiB / 8)
  })

  it('answers HEAD with the headers of GET, and ignores Range', async () => {
    const whole = await ask(await linkTo('Patient'))
    reads.length = 0
    const { status, headers, body } = await ask(await linkTo('Patient'), { range: 'bytes=0-9' }, 'HEAD')
    expect([status, body.length, reads.length]).toEqual([200, 0, 1])
    expect({ ...headers, date: '', connection: '' }).toEqual({ ...whole.headers, date: '', connection: '' })
  })

  it('is compressed on request, under another ETag', async () => {
    const { status, headers, body } = await ask(await linkTo('Observation'), { 'accept-encoding': 'gzip' })
    expect([status, headers['content-encoding'], headers.etag, headers['content-length']]).toEqual([
      200,
      'gzip',
      '"job-1-Observation-gzip"',
      undefined,
    ])
    expect([gunzipSync(body).equals(LARGE), body.length < LARGE.length / 10, headers.vary]).toEqual([true, true, 'Accept-Encoding'])
    const plain = await ask(await linkTo('Patient'), { 'accept-encoding': 'gzip;q=0, identity' })
    expect([plain.headers['content-encoding'], plain.headers.etag]).toEqual([undefined, '"job-1-Patient"'])
    const head = await ask(await linkTo('Patient'), { 'accept-encoding': 'gzip' }, 'HEAD')
    expect([head.headers['content-encoding'], head.body.length]).toEqual(['gzip', 0])
  })

  it('allows other origins as other responses do', async () => {
    const { headers } = await ask(await linkTo('Patient'), { origin: 'http://localhost' })
    expect(headers).toMatchObject({ 'access-control-allow-origin': '*', vary: 'Origin, Accept-Encoding' })
    expect(headers['access-control-expose-headers']).toMatch(/Content-Range, Accept-Ranges/)
  })
})

describe('A range', () => {
  const size = SMALL.length
  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=10-', 10, size],
    ['Bytes = 5-5', 5, 6],
    ['bytes=-5', size - 5, size],
    [`bytes=-${size + 5}`, 0, size],
    [`bytes=10-${size + 5}`, 10, size],
    ['bytes=0-', 0, size],
  ])('%s is sent alone', async (range, from, to) => {
    const { status, headers, body } = await ask(await linkTo('Patient'), { range, 'accept-encoding': 'gzip' })
    expect([status, body.equals(SMALL.subarray(from, to))]).toEqual([206, true])
    expect(headers).toMatchObject({
      'content-range': `bytes ${from}-${to - 1}/${size}`,
      'content-length': String(to - from),
      ...VALIDATORS,
    })
    expect(headers).not.toHaveProperty('content-encoding')
  })

  it.each(['bytes=0-1,3-4', 'bytes=a-b', 'items=0-1', 'bytes=5-2', 'bytes=5-4', 'bytes=-', 'bytes=', '0-1'])(
    '%s is ignored: the whole file is sent',
    async (range) => {
      const { status, headers, body } = await ask(await linkTo('Patient'), { range })
      expect([status, headers['content-range'], body.equals(SMALL)]).toEqual([200, undefined, true])
    },
  )

  it.each([
    `bytes=${SMALL.length}-`,
    `bytes=${'9'.repeat(16)}-`,
    `bytes=0-${'9'.repeat(16)}`,
    `bytes=${'0-0,'.repeat(30)}1-1`,
    'bytes=999999999999999-',
    'bytes=-0',
  ])('%s is answered 416', async (range) => {
    const answer = await ask(await linkTo('Patient'), { range })
    expect([answer.status, answer.headers['content-range'], textOf(answer)]).toEqual([
      416,
      `bytes */${SMALL.length}`,
      expect.stringContaining(`${SMALL.length} bytes`),
    ])
  })

  it.each([
    [VALIDATORS.etag, 206],
    [VALIDATORS['last-modified'], 206],
    ['"job-1-Patient-gzip"', 200],
    [`W/${VALIDATORS.etag}`, 200],
    ['"another"', 200],
    [new Date(NOW).toUTCString(), 200],
    ['nonsense', 200],
  ])('with If-Range %s is answered %i', async (ifRange, expected) => {
    const { status, body } = await ask(await linkTo('Patient'), { range: 'bytes=0-9', 'if-range': ifRange })
    expect([status, body.length]).toEqual([expected, expected === 206 ? 10 : SMALL.length])
  })
})

it.each([
  [{ 'if-none-match': VALIDATORS.etag }, 304],
  [{ 'if-none-match': '"other", W/"job-1-Patient"' }, 304],
  [{ 'if-none-match': '"job-1-Patient-gzip"' }, 304],
  [{ 'if-none-match': '*' }, 304],
  [{ 'if-none-match': '"other"', 'if-modified-since': VALIDATORS['last-modified'] }, 200],
  [{ 'if-modified-since': VALIDATORS['last-modified'] }, 304],
  [{ 'if-modified-since': new Date(NOW - 7_000).toUTCString() }, 200],
  [{ 'if-modified-since': 'yesterday' }, 200],
])('with %o a file is answered %i', async (headers, expected) => {
  const { status, body, headers: answered } = await ask(await linkTo('Patient'), headers as Record<string, string>)
  expect([status, body.length]).toEqual([expected, expected === 304 ? 0 : SMALL.length])
  expect(answered).toMatchObject(VALIDATORS)
})

describe('A link', () => {
  const refused = async (path: string, text: string, headers = {}) => {
    const answer = await ask(path, headers)
    expect([path, answer.status, textOf(answer)]).toEqual([path, 403, expect.stringContaining(text)])
    expect([reads, front.audited.at(-1)!.status]).toEqual([[], 403])
  }

  it('is rejected if any part of it was changed', async () => {
    const link = await linkTo('Patient')
    const signature = /signature=([^&]+)/.exec(link)![1]!
    const changed = [
      link.replace('Patient', 'Observation'),
      link.replace('job-1', 'job-2'),
      link.replace('client=app', 'client=other'),
      link.replace('client=app', 'client='),
      link.replace(/expires=\d+/, `expires=${Math.floor(UNTIL / 1000) + 1}`),
      link.replace('.ndjson', ''),
      `${link}&client=app`,
      `${link}&signature=${signature}`,
      link.replace(/&?signature=[^&]+/, ''),
      link.split('?')[0]!,
      ...[...signature].map((letter, i) =>
        link.replace(signature, `${signature.slice(0, i)}${letter === 'A' ? 'B' : 'A'}${signature.slice(i + 1)}`),
      ),
      link.replace('expires=', 'expires=0'),
      link.replace(signature, `${signature}A`),
      link.replace(signature, `${signature}=`),
      link.replace(signature, signature.slice(1)),
    ]
    for (const path of changed) await refused(path, 'none of this server')
  })

  it('is rejected if it was signed with another key', async () => {
    const other = linkSigner(new Uint8Array(32).fill(8), BASE)
    await refused((await other.sign({ job: JOB, file: 'Patient', client: 'app' }, UNTIL)).slice(BASE.length), 'none of this server')
  })

  it('expires at the time it states', async () => {
    now = UNTIL - 1
    expect((await ask(await linkTo('Patient'))).status).toBe(200)
    now = UNTIL
    reads.length = 0
    await refused(await linkTo('Patient'), 'expired')
  })

  it('is accepted with a token of its client, or without one', async () => {
    expect((await ask(await linkTo('Patient'), { authorization: 'mine' })).status).toBe(200)
    reads.length = 0
    await refused(await linkTo('Patient'), 'another client', { authorization: 'others' })
    expect((await ask(await linkTo('Patient'), { authorization: 'garbage' })).status).toBe(401)
    expect(reads).toEqual([])
  })

  it('is accepted with a token of its user, or without one', async () => {
    await rows.change<Job>(JOB_ROWS, JOB, (job) => ({ ...job!, user: 'u-1' }))
    for (const headers of [{}, { authorization: 'user' }]) expect((await ask(await linkTo('Patient'), headers)).status).toBe(200)
    reads.length = 0
    await refused(await linkTo('Patient'), 'another user', { authorization: 'mine' })
    await rows.change<Job>(JOB_ROWS, JOB, (job) => ({ ...job!, user: 'u-2' }))
    await refused(await linkTo('Patient'), 'another user', { authorization: 'user' })
  })

  it.each([
    ['a file that was removed', () => linkTo('Removed')],
    ['a file there never was', () => linkTo('Condition')],
    ['a job there never was', () => linkTo('Patient', { job: 'job-2' })],
  ])('to %s is answered 404', async (_, link) => {
    const answer = await ask(await link())
    expect([answer.status, textOf(answer)]).toEqual([404, expect.stringContaining('removed')])
  })

  it.each(['stopped', 'error', 'in-progress'] as const)('to a file of a job that is %s is answered 404', async (state) => {
    await rows.change<Job>(JOB_ROWS, JOB, (job) => ({ ...job!, state }))
    expect((await ask(await linkTo('Patient'))).status).toBe(404)
  })

  it('can contain any client name', async () => {
    const client = 'arn:aws:iam::1:user/a&b=c d+"é'
    await rows.change<Job>(JOB_ROWS, JOB, (job) => ({ ...job!, client }))
    expect((await ask(await linkTo('Patient', { client }))).status).toBe(200)
  })
})

describe('A download', () => {
  const GET = async (file: string) => `GET ${await linkTo(file)} HTTP/1.1\r\nhost: localhost\r\n\r\n`

  it('is cut off if its file is removed, and resumes when the file is back', async () => {
    patience = 9
    const line = openConnection(front.port, await GET('Observation'))
    const text = await line.ended
    const got = Buffer.from(text, 'latin1').subarray(text.indexOf('\r\n\r\n') + 4)
    expect([got.length, got.equals(LARGE.subarray(0, got.length))]).toEqual([MiB, true])
    expect(front.reported).toMatchObject([{ message: expect.stringContaining('while it was sent') }])
    patience = Number.POSITIVE_INFINITY
    const rest = await ask(await linkTo('Observation'), { range: `bytes=${got.length}-`, 'if-range': '"job-1-Observation"' })
    expect([rest.status, Buffer.concat([got, rest.body]).equals(LARGE)]).toEqual([206, true])
  })

  it('is cut off in the same way if it is compressed', async () => {
    patience = 9
    await expect(ask(await linkTo('Observation'), { 'accept-encoding': 'gzip' })).rejects.toThrow('aborted')
    await eventually(() => front.reported.length === 1)
  })

  it.each(['identity', 'gzip'])('is not read ahead for a slow client, and ends with its connection: %s', async (encoding) => {
    const connected = once(front.http, 'connection')
    const { socket } = openConnection(front.port)
    socket.pause()
    const [atServer] = (await connected) as [Socket]
    socket.write((await GET('Endless')).replace('\r\n\r\n', `\r\naccept-encoding: ${encoding}\r\n\r\n`))
    const readsOfIt = (): number => reads.filter(([key]) => key === fileKeyOf(JOB, 'Endless')).length
    /** Each request takes several turns of the event loop, in which a download without backpressure reads many chunks. */
    const othersAreAnswered = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) expect((await ask(await linkTo('Patient'))).status).toBe(200)
    }
    await eventually(() => atServer.writableNeedDrain)
    await othersAreAnswered()
    expect(readsOfIt()).toBeLessThan(60)
    socket.destroy()
    await eventually(() => atServer.closed)
    await othersAreAnswered()
    const after = readsOfIt()
    await othersAreAnswered()
    expect([readsOfIt(), front.reported]).toEqual([after, []])
  })

  it('holds only one chunk while it waits, and others are answered', async () => {
    await front.close()
    await start({ mostAnswers: 12 * MiB })
    const lines = []
    for (let i = 0; i < 10; i++) {
      const line = openConnection(front.port)
      line.socket.pause()
      line.socket.write(await GET('Endless'))
      lines.push(line)
    }
    await eventually(() => front.audited.length === 10)
    expect((await ask(await linkTo('Observation'))).body.length).toBe(LARGE.length)
    expect(lines.filter(({ socket }) => socket.destroyed)).toEqual([])
    for (const { socket } of lines) socket.destroy()
  })

  it('does not count toward the request limit', async () => {
    await front.close()
    await start({ maxRequests: 1 })
    const { socket } = openConnection(front.port)
    socket.pause()
    socket.write(await GET('Endless'))
    await eventually(() => front.audited.length === 1)
    expect((await ask(await linkTo('Patient'))).status).toBe(200)
    socket.destroy()
  })

  it('ends when the server closes', async () => {
    const line = openConnection(front.port, await GET('Endless'))
    await line.until(/200 OK/)
    const closed = new Promise((resolve) => front.http.close(resolve))
    expect(Buffer.byteLength(await line.ended, 'latin1')).toBeLessThan(ENDLESS)
    await closed
    expect(front.reported).toEqual([])
    await start()
  })
})
