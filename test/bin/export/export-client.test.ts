/** The Bulk Data client, against a server with any behavior that the protocol permits, and some that it does not. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { resolveSafeLink } from '../../../bin/client/safe-link.ts'
import { type ExportOptions, type ExportResult, runExport } from '../../../bin/export/export-client.ts'
import type { RequestedExport } from '../../../bin/export/kick-off.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { type BulkServer, type PreparedResponse, rangeResponder, startBulkServer } from './bulk-server.ts'

const PATIENTS = '{"resourceType":"Patient","id":"1"}\n{"resourceType":"Patient","id":"2"}\n'
const TIME = '2026-11-22T10:00:00.000Z'

const wantedOf = (base: string, more: Partial<RequestedExport> = {}): RequestedExport => ({
  ...{ base, level: 'system', types: [], elements: [], filters: [], patients: [] },
  ...more,
})

type More = Partial<Omit<ExportOptions, 'wanted'>> & { readonly wanted?: Partial<RequestedExport> }

/** Runs an export without waiting. `waited`: receives the delays it would have waited, in milliseconds. */
function exported(server: BulkServer, folder: string, { wanted = {}, ...more }: More = {}, waited: number[] = []): Promise<ExportResult> {
  const patience = {
    attempts: 4,
    async wait(milliseconds: number, signal: AbortSignal) {
      waited.push(milliseconds)
      signal.throwIfAborted()
    },
  }
  return runExport({
    ...{ folder, sinceLast: false, keep: false, parallel: 2, patience, signal: new AbortController().signal },
    ...{ onJob: () => undefined, onProgress: () => undefined, onBytes: () => undefined },
    ...more,
    request: wantedOf(server.base, wanted),
  })
}

const KICKED: PreparedResponse = { status: 202, headers: { 'content-location': '{base}/export/1' } }
const doneWith = (more: object, time = TIME): PreparedResponse => ({
  status: 200,
  body: JSON.stringify({ transactionTime: time, request: '', requiresAccessToken: false, output: [], error: [], ...more }),
})
const PATIENT_FILE = { output: [{ type: 'Patient', url: '{base}/files/Patient.ndjson?secret=1', count: 2 }] }
const outcome = (severity: string, code: string, text: string): string =>
  JSON.stringify({ resourceType: 'OperationOutcome', issue: [{ severity, code, details: { text } }] })

const stateOf = (folder: string): object => JSON.parse(readFileSync(join(folder, 'export-state.json'), 'utf8'))
const faultOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'nothing',
    ({ kind }) => kind,
  )

describe('An export', () => {
  it('waits for the job, even on a busy server, and downloads its files', async () => {
    const server = await startBulkServer({
      'GET /$export': [{ status: 429, headers: { 'retry-after': '7' } }, KICKED],
      'GET /export/1': [
        { status: 202, headers: { 'x-progress': '10%', 'retry-after': '3' } },
        { status: 503 },
        { status: 500, body: outcome('error', 'transient', 'later') },
        doneWith(PATIENT_FILE),
      ],
      'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
    })
    const folder = newFolder()
    const waited: number[] = []
    const heard: string[] = []
    const authorize = async () => ({ authorization: 'Bearer x' })
    const found = await exported(server, folder, { authorize, onProgress: (text) => heard.push(text) }, waited)
    expect(found).toMatchObject({
      transactionTime: TIME,
      files: [{ name: 'Patient.ndjson', lines: 2, bytes: PATIENTS.length }],
      errors: [],
    })
    expect(waited).toEqual([7_000, 3_000, 500, 1_000])
    expect(heard).toEqual(['10%'])
    expect(readFileSync(join(folder, 'Patient.ndjson'), 'utf8')).toBe(PATIENTS)
    expect(readdirSync(folder).toSorted()).toEqual(['Patient.ndjson', 'export-state.json', 'manifest.json'])
    const [first] = server.requests
    expect(first!.headers).toMatchObject({ prefer: 'respond-async', accept: 'application/fhir+json', authorization: 'Bearer x' })
    // The link authorizes the download. A token must not reach the file server.
    expect(server.requests.at(-1)!.headers.authorization).toBeUndefined()
  })

  it('sends its token for files if the manifest requires it', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [doneWith({ ...PATIENT_FILE, requiresAccessToken: true })],
      'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
    })
    await exported(server, newFolder(), { authorize: async () => ({ authorization: 'Bearer x' }) })
    expect(server.requests.at(-1)!.headers.authorization).toBe('Bearer x')
  })

  it('resumes a broken download, and restarts it if the file has changed', async () => {
    let times = 0
    const ranged = rangeResponder(PATIENTS, '"b"')
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [doneWith(PATIENT_FILE)],
      'GET /files/Patient.ndjson': (asked) => {
        times++
        if (times === 1) return { ...rangeResponder(PATIENTS.replaceAll('Patient', 'Another'), '"a"')(asked), breakAfter: 40 }
        return times === 2 ? { ...ranged(asked), breakAfter: 50 } : ranged(asked)
      },
    })
    const folder = newFolder()
    await exported(server, folder)
    expect(readFileSync(join(folder, 'Patient.ndjson'), 'utf8')).toBe(PATIENTS)
    expect(server.requests.slice(2).map(({ headers }) => [headers.range, headers['if-range']])).toEqual([
      [undefined, undefined],
      ['bytes=40-', '"a"'],
      ['bytes=50-', '"b"'],
    ])
  })

  it('rejects a file with another line count than in the manifest', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [doneWith({ output: [{ type: 'Patient', url: '{base}/files/Patient.ndjson', count: 3 }] })],
      'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
    })
    const folder = newFolder()
    await expect(exported(server, folder, { sinceLast: true })).rejects.toThrow(
      'Patient.ndjson has 2 lines, and not 3 as the manifest says',
    )
    expect(server.times('GET', '/files/Patient.ndjson')).toBe(2)
    expect(readdirSync(folder, { recursive: true }).filter((name) => /ndjson$|manifest/.test(String(name)))).toEqual([])
    expect(stateOf(folder)).toEqual({})
  })

  it('removes files of the previous export that the new one lacks', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [
        doneWith({ output: [...PATIENT_FILE.output, { type: 'Device', url: '{base}/files/Patient.ndjson' }] }),
        doneWith(PATIENT_FILE),
      ],
      'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
    })
    const folder = newFolder()
    await exported(server, folder)
    expect(existsSync(join(folder, 'Device.ndjson'))).toBe(true)
    await exported(server, folder)
    expect(readdirSync(folder).toSorted()).toEqual(['Patient.ndjson', 'export-state.json', 'manifest.json'])
  })
})

describe('A faulty or hostile server', () => {
  it.each(['2020-01-01 (/../../../x)', '../../x 2020', '2020', 'now'])(
    'cannot choose a folder with its transactionTime: %s',
    async (time) => {
      const server = await startBulkServer({
        'GET /$export': [KICKED],
        'GET /export/1': [doneWith(PATIENT_FILE, time)],
        'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
      })
      const folder = newFolder()
      await expect(exported(server, join(folder, 'a/b'), { sinceLast: true })).rejects.toThrow('it has no transactionTime')
      expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual(['a', 'a/b', 'a/b/export-state.json'])
    },
  )

  it.each(['file:///etc/passwd', 'data:,{}', 'ftp://x/y', 'http://', 7])(
    'cannot send the client to an invalid file URL: %s',
    async (url) => {
      const server = await startBulkServer({
        'GET /$export': [KICKED],
        'GET /export/1': [doneWith({ output: [{ type: 'Patient', url }] })],
      })
      expect(await faultOf(exported(server, newFolder()))).toBe('failed')
      expect(server.requests).toHaveLength(2)
    },
  )

  it.each(['file:///etc/passwd', ''])('cannot send the client to an invalid job URL: "%s"', async (link) => {
    const server = await startBulkServer({
      'GET /$export': [{ status: 202, ...(link === '' ? {} : { headers: { 'content-location': link } }) }],
    })
    await expect(exported(server, newFolder())).rejects.toThrow('leads to no job')
  })

  it('is given up if it repeatedly sends the same beginning of a file', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [doneWith(PATIENT_FILE)],
      'GET /files/Patient.ndjson': () => ({ status: 200, body: PATIENTS, breakAfter: 40 }),
    })
    expect(await faultOf(exported(server, newFolder()))).toBe('unreachable')
    // The bytes of the first attempt were new, so it does not count as a repetition.
    expect(server.times('GET', '/files/Patient.ndjson')).toBe(4)
  })

  it('is given up if its response exceeds 64 MB', async () => {
    const server = await startBulkServer({ 'GET /$export': [KICKED], 'GET /export/1': [{ status: 200, body: ' '.repeat(64_000_001) }] })
    await expect(exported(server, newFolder())).rejects.toThrow('answers with more than 64 MB')
  })

  it.each([{}, 'x', [null, 7], [{ details: null }]])('may send malformed issues in its error file: %j', async (issue) => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [doneWith({ ...PATIENT_FILE, error: [{ type: 'OperationOutcome', url: '{base}/files/error' }] })],
      'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
      'GET /files/error': rangeResponder(`${JSON.stringify({ resourceType: 'OperationOutcome', issue })}\n`, '"e"'),
    })
    expect(await exported(server, newFolder())).toMatchObject({ files: [{ lines: 2 }, { lines: 1 }] })
  })
})

describe('A link', () => {
  it.each([
    ['https://a/b', 'http://x/', 'https://a/b'],
    ['c?d=e', 'https://x/b', 'https://x/c?d=e'],
    ['http://a/b', 'http://x/', 'http://a/b'],
    ['http://a/b', 'https://a/', undefined],
    ['file:///a', 'https://x/', undefined],
    [undefined, 'https://x/', undefined],
  ])('%s in a response from %s resolves to %s', (link, from, to) => {
    expect(resolveSafeLink(link, from)).toBe(to)
  })
})

describe('A folder', () => {
  it.each(['Patient.ndjson', 'manifest.json'])('is left unchanged if its %s is of no export, and no request is sent', async (name) => {
    const server = await startBulkServer({ 'GET /$export': [KICKED] })
    const folder = newFolder()
    writeFileSync(join(folder, name), 'mine')
    await expect(exported(server, folder)).rejects.toThrow(`has a ${name} that this command did not write`)
    expect([server.requests, readFileSync(join(folder, name), 'utf8')]).toEqual([[], 'mine'])
  })

  it('is rejected if its state file is not that of an export', async () => {
    const server = await startBulkServer({ 'GET /$export': [KICKED] })
    for (const text of ['null', '[]', '{']) {
      const folder = newFolder()
      writeFileSync(join(folder, 'export-state.json'), text)
      await expect(exported(server, folder)).rejects.toThrow('export-state.json cannot be read (it says nothing of an export)')
    }
  })
})

describe('An export with --since-last', () => {
  const later = '2026-11-23T10:00:00.000Z'
  const answers = (second: PreparedResponse) => ({
    'GET /$export': [KICKED],
    'GET /export/1': [doneWith(PATIENT_FILE), second],
    'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
    'GET /files/error': rangeResponder(
      `${outcome('error', 'exception', 'Patient/3 is damaged')}\n${outcome('fatal', 'value', 'all is lost')}\n${outcome('warning', 'value', 'hm')}\n`,
      '"e"',
    ),
  })
  const sinceOf = ({ requests: asked }: BulkServer): (string | null)[] =>
    asked.filter(({ url }) => url.includes('$export')).map(({ url }) => new URL(url, 'http://x').searchParams.get('_since'))

  it('exports changes since the previous one into a new folder', async () => {
    const server = await startBulkServer(answers(doneWith(PATIENT_FILE, later)))
    const folder = newFolder()
    for (let i = 0; i < 3; i++) await exported(server, folder, { sinceLast: true })
    expect(sinceOf(server)).toEqual([null, TIME, later])
    expect(readdirSync(folder).toSorted()).toEqual(['2026-11-22T100000.000Z', '2026-11-23T100000.000Z', 'export-state.json'])
    expect(readdirSync(join(folder, '2026-11-22T100000.000Z')).toSorted()).toEqual(['Patient.ndjson', 'manifest.json'])
  })

  it('exports everything if the previous one requested other types', async () => {
    const server = await startBulkServer(answers(doneWith(PATIENT_FILE, later)))
    const folder = newFolder()
    for (const types of [['Patient'], ['Patient', 'Observation'], ['Patient', 'Observation']])
      await exported(server, folder, { sinceLast: true, wanted: { types } })
    await exported(server, folder, { wanted: { types: ['Device'] } })
    await exported(server, folder, { sinceLast: true, wanted: { types: ['Patient', 'Observation'] } })
    expect(sinceOf(server)).toEqual([null, null, later, null, later])
  })

  it('repeats the period of an export that reported errors', async () => {
    const server = await startBulkServer(
      answers(doneWith({ ...PATIENT_FILE, error: [{ type: 'OperationOutcome', url: '{base}/files/error' }] }, later)),
    )
    const folder = newFolder()
    await exported(server, folder, { sinceLast: true })
    expect(await exported(server, folder, { sinceLast: true })).toMatchObject({
      errors: ['Patient/3 is damaged', 'all is lost'],
      warnings: ['hm'],
    })
    expect(stateOf(folder)).toEqual({ transactionTime: TIME, of: `${server.base}/$export` })
    await exported(server, folder, { sinceLast: true })
    expect(sinceOf(server)).toEqual([null, TIME, TIME])
  })
})

describe('A job', () => {
  it('is reported when it failed, and not resumed', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [{ status: 500, body: outcome('fatal', 'exception', 'the disk is full') }],
    })
    const folder = newFolder()
    await expect(exported(server, folder)).rejects.toThrow('The export failed: 500: the disk is full')
    expect(await faultOf(exported(server, folder))).toBe('failed')
    expect(server.times('GET', '/$export')).toBe(2)
  })

  it('is reported with the reason if the server refuses it', async () => {
    const server = await startBulkServer({ 'GET /$export': [{ status: 400, body: outcome('error', 'value', '_type names no type') }] })
    await expect(exported(server, newFolder())).rejects.toThrow('The export is refused: 400: _type names no type')
    expect(server.requests).toHaveLength(1)
  })

  it('is resumed by the next run after the server was unreachable', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [...Array.from({ length: 4 }, () => ({ status: 502 })), doneWith(PATIENT_FILE)],
      'GET /files/Patient.ndjson': rangeResponder(PATIENTS, '"a"'),
    })
    const folder = newFolder()
    expect(await faultOf(exported(server, folder))).toBe('unreachable')
    const known: unknown[] = []
    await exported(server, folder, { onJob: (link, isKnown) => known.push([link, isKnown]) })
    expect(known).toEqual([[`${server.base}/export/1`, true]])
    expect(server.times('GET', '/$export')).toBe(1)
  })

  it.each([
    { file: 'the same file', etag: '"a"', sizes: [40, PATIENTS.length] },
    { file: 'a changed file', etag: '"b"', sizes: [40, 0, PATIENTS.length] },
  ])('is resumed with a progress that counts the bytes of the earlier run: $file', async ({ etag, sizes }) => {
    let isFirstRun = true
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [doneWith(PATIENT_FILE)],
      'GET /files/Patient.ndjson': (asked) => {
        if (!isFirstRun) return rangeResponder(PATIENTS, etag)(asked)
        return asked.headers.range === undefined ? { ...rangeResponder(PATIENTS, '"a"')(asked), breakAfter: 40 } : { status: 502 }
      },
    })
    const folder = newFolder()
    expect(await faultOf(exported(server, folder))).toBe('unreachable')
    isFirstRun = false
    const reported: number[] = []
    await exported(server, folder, { onBytes: (bytes) => reported.push(bytes) })
    expect(reported).toEqual(sizes)
  })

  it('is started again if the server has lost it or the request differs', async () => {
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [...Array.from({ length: 8 }, () => ({ status: 502 })), { status: 404 }, doneWith({})],
    })
    const folder = newFolder()
    expect(await faultOf(exported(server, folder))).toBe('unreachable')
    expect(await faultOf(exported(server, folder, { wanted: { types: ['Device'] } }))).toBe('unreachable')
    await exported(server, folder, { wanted: { types: ['Device'] } })
    expect(server.requests.filter(({ url }) => url.includes('$export')).map(({ url }) => url)).toEqual([
      '/fhir/$export',
      '/fhir/$export?_type=Device',
      '/fhir/$export?_type=Device',
    ])
  })

  it.each([
    [false, ['DELETE'], {}],
    [true, [], { job: expect.anything() }],
  ])('is deleted when the client is interrupted, unless keep is set: %s', async (keep, deleted, state) => {
    const ending = new AbortController()
    const server = await startBulkServer({
      'GET /$export': [KICKED],
      'GET /export/1': [{ status: 202, headers: { 'x-progress': '10%' } }],
      'DELETE /export/1': [{ status: 202 }],
    })
    const folder = newFolder()
    await expect(exported(server, folder, { keep, signal: ending.signal, onProgress: () => ending.abort() })).rejects.toThrow('aborted')
    expect(server.requests.map(({ method }) => method).filter((method) => method === 'DELETE')).toEqual(deleted)
    expect(stateOf(folder)).toEqual(state)
  })
})

describe('An unreachable server', () => {
  it('is reported after a few attempts at the kick-off', async () => {
    const waited: number[] = []
    const nobody = { base: 'http://127.0.0.1:9/fhir', requests: [], times: () => 0 }
    expect(await faultOf(exported(nobody, newFolder(), {}, waited))).toBe('unreachable')
    expect(waited).toEqual([500, 1_000])
  })

  it('is retried with growing delays while a job runs', async () => {
    const server = await startBulkServer({
      'GET /$export': [{ status: 202, headers: { 'content-location': 'http://127.0.0.1:9/export/1' } }],
    })
    const waited: number[] = []
    expect(await faultOf(exported(server, newFolder(), {}, waited))).toBe('unreachable')
    expect(waited).toEqual([500, 1_000, 2_000])
  })
})
