/** Requests that a load sends to a server, and its handling of the responses. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import { findSourceFiles } from '../../../bin/load/file-reader.ts'
import { load } from '../../../bin/load/load.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import type { Tree } from '../../fixtures/resources.ts'

type Answer = { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: object }
type Seen = { readonly path: string; readonly headers: IncomingMessage['headers']; readonly text: string }

let server: Server | undefined

afterEach(() => {
  server?.close()
  server?.closeAllConnections()
  server = undefined
})

/** Loads files into a server with prepared responses. Returns the requests and the result of the load. */
async function loaded(
  files: Readonly<Record<string, string | Buffer>>,
  answer: (text: string, path: string, headers: IncomingMessage['headers']) => Answer = () => ({ status: 200 }),
  metadata: Answer = { status: 200, body: { resourceType: 'CapabilityStatement' } },
  onBehind?: (versions: number) => void,
) {
  const seen: Seen[] = []
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const asked = request.url!
    if (request.method === 'POST') seen.push({ path: asked, headers: request.headers, text })
    const { status, headers, body = {} } = isBesides(request) ? metadata : answer(text, asked, request.headers)
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
  const folder = newFolder()
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`
  const result = await load(findSourceFiles([folder]), { base, concurrency: 1, onProgress: () => undefined, ...(onBehind && { onBehind }) })
  const failures = result.failures.map(({ place, ...rest }) => ({ place: place.slice(folder.length + 1), ...rest }))
  const beside = result.skipped.map(({ file, description }) => `${file.slice(folder.length + 1)}: ${description}`)
  return { seen, resources: result.resources, failures, beside, isSearchable: result.isSearchable }
}

const isBesides = ({ method, url }: IncomingMessage): boolean => method === 'GET' && url!.endsWith('/metadata')

const basic = (id: string): string => `{"resourceType":"Basic","id":"${id}"}`
const put = (id: string): string => `{"resource":${basic(id)},"request":{"method":"PUT","url":"Basic/${id}"}}`
const refused: Answer = { status: 400, body: { issue: [{ details: { text: 'no' }, expression: ['Bundle'] }] } }

describe('load', () => {
  it('sends each file unchanged, whatever its length, and reports an empty one', async () => {
    const ids = ['s'.repeat(3), 'l'.repeat(60), 'm'.repeat(20)]
    const long = (id: string): string => `{"resourceType":"Basic","id":"${id}","language":"${'x'.repeat(id.length * 5_000)}"}`
    const { seen, failures } = await loaded({
      'a.json': long(ids[0]!),
      'b.json': long(ids[1]!),
      'c.json': '',
      'd.json': long(ids[2]!),
      'e.json': basic('e'),
    })
    expect(failures.map(({ place }) => place)).toEqual(['c.json'])
    const sent = [...ids.map((id) => [id, long(id)]), ['e', basic('e')]]
    expect(seen.map(({ text }) => text)).toEqual(
      sent.map(
        ([id, text]) =>
          `{"resourceType":"Bundle","type":"transaction","entry":[{"resource":${text},"request":{"method":"PUT","url":"Basic/${id}"}}]}`,
      ),
    )
  })

  it.each([401, 403])('accepts a server that answers %d to a request for its metadata', async (status) => {
    const { seen, resources } = await loaded({ 'a.json': basic('a') }, undefined, { status })
    expect([seen.length, resources]).toEqual([1, 1])
  })

  it.each<readonly [Answer, string]>([
    [{ status: 404 }, 'answers 404, and no CapabilityStatement'],
    [{ status: 301, headers: { location: 'https://fhir.example.org' } }, 'answers 301, leads to https://fhir.example.org, and no'],
    [{ status: 200, body: { resourceType: 'Patient' } }, 'answers 200, and no CapabilityStatement'],
  ])('sends nothing to an address that is not a FHIR base: %j', async (metadata, said) => {
    const asked: string[] = []
    const answer = (_: string, path: string): Answer => {
      asked.push(path)
      return { status: 200 }
    }
    await expect(loaded({ 'a.json': basic('a') }, answer, metadata)).rejects.toThrow(said)
    expect(asked).toEqual([])
  })

  it('sends compact JSON in a transaction that does not wait for the index', async () => {
    const { seen, resources, failures } = await loaded({ 'a.ndjson': `${basic('a')}\r\n \n${basic('b')}` })
    expect([resources, failures]).toEqual([2, []])
    expect(seen).toMatchObject([
      {
        path: '/fhir',
        headers: {
          'content-type': 'application/fhir+json',
          prefer: 'return=minimal',
          connection: 'keep-alive',
          'x-consistency': 'eventual',
        },
        text: `{"resourceType":"Bundle","type":"transaction","entry":[${put('a')},${put('b')}]}`,
      },
    ])
  })
  it('sends at most 200 resources per request, and no id twice in one', async () => {
    const ids = [...Array.from({ length: 201 }, (_, i) => `i${i}`), 'i200']
    const { seen, resources } = await loaded({ 'a.ndjson.gz': gzipSync(ids.map(basic).join('\n')) })
    expect(resources).toBe(202)
    expect(seen.map(({ text }) => JSON.parse(text).entry.length)).toEqual([200, 1, 1])
  })
  it('reads a long NDJSON line with any characters as one resource', async () => {
    const text = `{"resourceType":"Basic","id":"a","x":"${'\u2028é'.repeat(50_000)}"}`
    const { seen, resources } = await loaded({ 'a.ndjson': `${text}\n${basic('b')}\n` })
    expect([resources, JSON.parse(seen[0]!.text).entry[0].resource]).toEqual([2, JSON.parse(text)])
  })
  it('names the resource that a batch refuses, with the reason', async () => {
    const wrong = { status: '400', outcome: { issue: [{ details: { text: 'no' }, expression: ['Bundle.entry[1].resource.code'] }] } }
    const { resources, failures } = await loaded({ 'a.ndjson': `${basic('a')}\n${basic('b')}` }, (text) =>
      text.includes('"transaction"') ? refused : { status: 200, body: { entry: [{ response: { status: '200' } }, { response: wrong }] } },
    )
    expect([resources, failures]).toEqual([1, [{ place: 'a.ndjson:2', key: 'Basic/b', reason: '400 no at Basic.code' }]])
  })
  it('sends a Bundle again without the resource that makes it unreadable', async () => {
    const twice = '{"resourceType":"Basic","id":"b","x":1,"x":1}'
    const { resources, failures } = await loaded({ 'a.ndjson': [basic('a'), twice, basic('c')].join('\n') }, (text) =>
      text.includes(twice) ? refused : { status: 200 },
    )
    expect([resources, failures]).toEqual([
      2,
      [
        {
          place: 'a.ndjson:2',
          key: 'Basic/b',
          reason: expect.stringContaining('the same property twice in one object (line 1, column 40)'),
        },
      ],
    ])
  })
  it('reports all resources of a Bundle that is refused as a whole', async () => {
    const { resources, failures } = await loaded({ 'a.ndjson': `${basic('a')}\n${basic('b')}` }, () => refused)
    expect(resources).toBe(0)
    expect(failures).toEqual([
      { place: 'a.ndjson:1', key: 'Basic/a', reason: '400 no at Bundle' },
      { place: 'a.ndjson:2', key: 'Basic/b', reason: '400 no at Bundle' },
    ])
  })
  it('names the element of a single resource that is refused', async () => {
    const body = { issue: [{ details: { text: 'no' }, expression: ['Bundle.entry[0].resource.code'] }] }
    const { failures } = await loaded({ 'a.json': basic('a') }, () => ({ status: 422, body }))
    expect(failures).toEqual([{ place: 'a.json', key: 'Basic/a', reason: '422 no at Basic.code' }])
  })
  it('retries on a busy server, and follows redirects', async () => {
    const answers: Answer[] = [{ status: 503 }, { status: 429 }, { status: 308, headers: { location: '/elsewhere' } }, { status: 201 }]
    const { seen, resources } = await loaded({ 'a.json': basic('a') }, () => answers.shift()!)
    expect([resources, seen.map(({ path }) => path)]).toEqual([1, ['/fhir', '/fhir', '/fhir', '/elsewhere']])
    expect(new Set(seen.map(({ text }) => text)).size).toBe(1)
  })
  it('halves a request that takes the server too long', async () => {
    const sizes: number[] = []
    const { resources, failures } = await loaded({ 'a.ndjson': [...'abcdefgh'].map(basic).join('\n') }, (text) => {
      sizes.push(JSON.parse(text).entry.length)
      return { status: sizes.at(-1)! > 2 ? 504 : 200 }
    })
    expect([resources, failures, sizes]).toEqual([8, [], [8, 4, 2, 2, 4, 2, 2]])
  })
  it('gives up when even a single resource takes the server too long', async () => {
    const sizes: number[] = []
    const { resources, failures } = await loaded({ 'a.ndjson': [...'abcdefgh'].map(basic).join('\n') }, (text) => {
      sizes.push(JSON.parse(text).entry.length)
      return { status: 504, body: { issue: [{ details: { text: 'The answer took too long' } }] } }
    })
    expect([resources, failures.map(({ key, reason }) => [key, reason])]).toEqual([
      0,
      [...'abcdefgh'].map((id) => [`Basic/${id}`, '504 The answer took too long']),
    ])
    expect(sizes).toEqual([8, 4, 2, 1])
  })
  it('retries entries that a batch did not start, as long as there is progress', async () => {
    const sent: string[][] = []
    const statuses = ['201', '422', '503', '503']
    const { resources, failures } = await loaded({ 'a.ndjson': [...'abcd'].map(basic).join('\n') }, (text) => {
      const { type, entry } = JSON.parse(text)
      sent.push([type, ...entry.map(({ resource }: Tree) => resource.id)])
      if (sent.length === 1) return refused
      const entries = statuses.map((status) => ({ response: { status } }))
      return sent.length === 2
        ? { status: 200, body: { entry: entries } }
        : sent.length === 3
          ? refused
          : { status: 200, body: { entry: entries.slice(2) } }
    })
    expect([resources, failures.map(({ key, reason }) => [key, reason])]).toEqual([
      1,
      [
        ['Basic/b', '422'],
        ['Basic/c', '503'],
        ['Basic/d', '503'],
      ],
    ])
    expect(sent).toEqual([
      ['transaction', 'a', 'b', 'c', 'd'],
      ['batch', 'a', 'b', 'c', 'd'],
      ['transaction', 'c', 'd'],
      ['batch', 'c', 'd'],
    ])
  })
  it('looks up each reference by search once, after loading all other resources', async () => {
    const located = (id: string): string =>
      `{"resourceType":"Location","id":"${id}","managingOrganization":{"reference":"Organization?name=X"}}`
    const found = { response: { status: '200' }, resource: { entry: [{ resource: { resourceType: 'Organization', id: 'o' } }] } }
    const { seen, resources, failures } = await loaded({ 'a.ndjson': `${located('l')}\n${located('m')}\n${basic('b')}` }, (text) =>
      text.includes('"batch"') ? { status: 200, body: { entry: [found] } } : { status: 200, headers: { 'x-index-token': 'token' } },
    )
    expect([resources, failures, seen.length]).toEqual([3, [], 3])
    expect(JSON.parse(seen[0]!.text).entry).toMatchObject([{ resource: { id: 'b' } }])
    expect(seen[1]!.headers).toMatchObject({ 'x-index-token': 'token', prefer: 'handling=strict' })
    expect(JSON.parse(seen[1]!.text).entry).toEqual([{ request: { method: 'GET', url: 'Organization?name=X&_count=2&_elements=id' } }])
    expect(JSON.parse(seen[2]!.text).entry.map(({ resource }: Tree) => [resource.id, resource.managingOrganization.reference])).toEqual([
      ['l', 'Organization/o'],
      ['m', 'Organization/o'],
    ])
  })
  it('continues after a file that cannot be read', async () => {
    const { resources, failures } = await loaded({
      'a.json': '{',
      'b.json.gz': 'not gzip',
      'c.ndjson.gz': 'not gzip',
      'd.json': basic('d'),
    })
    expect([resources, failures.map(({ place }) => place)]).toEqual([1, ['a.json', 'b.json.gz', 'c.ndjson.gz']])
  })
})

const manifestAt = (transactionTime: string): string => JSON.stringify({ transactionTime, output: [], deleted: [], error: [] })
const deletion = '{"resourceType":"Bundle","type":"transaction","entry":[{"request":{"method":"DELETE","url":"Basic/x"}}]}'
const outcome = '{"resourceType":"OperationOutcome","issue":[{"severity":"warning","code":"processing","details":{"text":"left out"}}]}'

describe('load of an export', () => {
  it('loads resources, and lists the other files of the export', async () => {
    const { seen, resources, failures, beside } = await loaded({
      'Basic.ndjson': `${basic('a')}\n`,
      'deleted.ndjson': `${deletion}\n${deletion}\n`,
      'error.ndjson': `${outcome}\n`,
      'export-state.json': '{"transactionTime":"2026-11-22T10:00:00Z"}',
      'manifest.json': manifestAt('2026-11-22T10:00:00Z'),
    })
    expect([resources, failures, seen.length]).toEqual([1, [], 1])
    expect(beside).toEqual([
      'export-state.json: how far an export is',
      'manifest.json: the manifest of an export',
      'deleted.ndjson: deletions, which are left to you (2 lines)',
      'error.ndjson: left out',
    ])
  })

  it('loads resources that follow a malformed OperationOutcome', async () => {
    const { resources, failures } = await loaded({
      'Basic.ndjson':
        ['{}', '"x"', '[null]'].map((issue) => `{"resourceType":"OperationOutcome","issue":${issue}}\n`).join('') + basic('a'),
      'manifest.json': manifestAt('2026-11-22T10:00:00Z'),
    })
    expect(resources).toBe(1)
    expect(failures.map(({ reason }) => reason)).toEqual(Array(3).fill('the OperationOutcome has no id'))
  })

  it('loads several exports in the order of their transaction times', async () => {
    const { seen } = await loaded({
      'a/Basic.ndjson': `${basic('later')}\n`,
      'a/manifest.json': manifestAt('2026-11-22T10:00:00Z'),
      'b/Basic.ndjson': `${basic('sooner')}\n`,
      'b/manifest.json': manifestAt('2026-11-22T10:30:00+01:00'),
      'c.json': basic('neither'),
    })
    expect(seen.map(({ text }) => JSON.parse(text).entry[0].resource.id)).toEqual(['neither', 'sooner', 'later'])
  })

  it('recognizes an export by its content, and otherwise reports its files as failures', async () => {
    const { resources, failures, beside } = await loaded({
      'deleted.ndjson': deletion,
      'error.ndjson': outcome,
      'export-state.json': '{"more":1}',
      'manifest.json': '{"transactionTime":1}',
    })
    expect([resources, beside]).toEqual([0, []])
    expect(failures.map(({ place, reason }) => `${place} ${reason}`).sort()).toEqual([
      'deleted.ndjson:1#0 DELETE is not loaded, resources are',
      'error.ndjson:1 the OperationOutcome has no id',
      'export-state.json not a FHIR resource',
      'manifest.json not a FHIR resource',
    ])
  })

  it('reports a DELETE entry with a resource, and an unrelated .part.json, as failures', async () => {
    const { failures, beside } = await loaded({
      'deleted.ndjson': deletion.replace('}]}', `,"resource":${basic('a')}}]}`),
      'manifest.json': manifestAt('2026-11-22T10:00:00Z'),
      'x.part.json': '{"more":1}',
    })
    expect(beside).toEqual(['manifest.json: the manifest of an export'])
    expect(failures.map(({ place, reason }) => `${place} ${reason}`).sort()).toEqual([
      'deleted.ndjson:1#0 DELETE is not loaded, resources are',
      'x.part.json not a FHIR resource',
    ])
  })

  it('loads a resource from a file of any name', async () => {
    const { resources } = await loaded({ 'manifest.json': basic('a'), 'export-state.json': basic('b') })
    expect(resources).toBe(2)
  })

  it('refuses an export that is not finished', async () => {
    const files = { 'Basic.ndjson': basic('a'), 'Patient.ndjson.part.json': '{"etag":"x","length":3}' }
    await expect(loaded(files)).rejects.toThrow('holds an export that is not finished')
  })
})

const UUID = (n: number): string => `0b8e5bd7-7b77-4c70-9b5b-00000000000${n}`
const group = (id: string, ...members: readonly string[]): string =>
  JSON.stringify({ resourceType: 'Group', id, member: members.map((reference) => ({ entity: { reference } })) })
const bundleOf = (...entry: readonly (readonly [fullUrl: string, resource: string])[]): string =>
  JSON.stringify({
    resourceType: 'Bundle',
    type: 'collection',
    entry: entry.map(([fullUrl, text]) => ({ fullUrl, resource: JSON.parse(text) })),
  })

describe('References by URN to resources of other files', () => {
  const membersSent = (seen: readonly Seen[]): readonly string[] =>
    seen
      .flatMap(({ text }) => (JSON.parse(text) as Tree).entry)
      .filter(({ resource }) => resource?.resourceType === 'Group')
      .map(({ resource }) => resource.member.map(({ entity }: Tree) => entity.reference).join(' '))

  it('resolve to those resources, in Bundles and NDJSON, in any file order', async () => {
    const urns = ['urn:uuid:p', 'urn:oid:1.2.3', `urn:uuid:${UUID(1)}`]
    const { seen, resources, failures } = await loaded({
      'a.json': group('single', ...urns),
      'b.ndjson': `${group('line', ...urns)}\n`,
      'c.json': bundleOf(['urn:uuid:p', basic('p')], ['urn:uuid:g', group('entry', ...urns)]),
      'd.ndjson.gz': gzipSync(`${basic(UUID(1))}\n${bundleOf(['urn:oid:1.2.3', basic('o')])}\n`),
    })
    expect([resources, failures]).toEqual([6, []])
    expect(membersSent(seen)).toEqual(Array.from({ length: 3 }, () => `Basic/p Basic/o Basic/${UUID(1)}`))
  })

  it('resolve to the existing resource that ifNoneExist found', async () => {
    const practitioner = {
      fullUrl: 'urn:uuid:p',
      resource: JSON.parse(basic('p')),
      request: { method: 'POST', url: 'Basic', ifNoneExist: 'code=x' },
    }
    const found = { resource: { entry: [{ resource: { resourceType: 'Basic', id: 'there' } }] }, response: { status: '200' } }
    const { seen } = await loaded(
      {
        'a.json': group('g', 'urn:uuid:p'),
        'b.json': JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry: [practitioner] }),
      },
      (text) => ({ status: 200, body: text.includes('"GET"') ? { entry: [found] } : {} }),
    )
    expect(membersSent(seen)).toEqual(['Basic/there'])
  })

  it('are failures unless they match exactly one resource; the referring resource is not sent', async () => {
    const { seen, resources, failures } = await loaded({
      'a.ndjson': `${group('g', 'urn:uuid:p', 'urn:uuid:none', 'urn:uuid:twice', 'urn:uuid:other')}\n${basic('b')}\n`,
      'b.json': bundleOf(['urn:uuid:p', basic('p')], ['urn:uuid:twice', basic('one')]),
      'c.json': bundleOf(['urn:uuid:p', basic('p')], ['urn:uuid:twice', basic('two')]),
    })
    const reason = (urn: string, count: string) => `${urn}: ${count} of this load has this fullUrl`
    expect([resources, membersSent(seen)]).toEqual([5, []])
    expect(failures).toEqual(
      [
        reason('urn:uuid:none', 'no resource'),
        'urn:uuid:twice: several resources of this load have this fullUrl',
        reason('urn:uuid:other', 'no resource'),
      ].map((each) => ({ place: 'a.ndjson:1', key: 'Group/g', reason: each })),
    )
  })

  it('stay unchanged in elements that are not references', async () => {
    const text = '{"resourceType":"Basic","id":"b","extension":[{"url":"http://a.example/x","valueUri":"urn:oid:2.16.840.1"}]}'
    const { seen, failures } = await loaded({ 'a.json': text })
    expect([seen.length, seen[0]!.text.includes(text), failures]).toEqual([1, true, []])
  })
})

describe('Waiting until all is searchable', () => {
  /** Waiting searches are answered 503 `refusals` times. `lags`: index lags reported to searches that do not wait. */
  const waited = async (lags: readonly number[], refusals: number, token?: string) => {
    const told: number[] = []
    const tokens: unknown[] = []
    let looks = 0
    const { isSearchable } = await loaded(
      { 'a.ndjson': basic('a') },
      (text, _, headers) => {
        if (text !== '') return { status: 200, headers: token === undefined ? {} : { 'x-index-token': token } }
        if (headers['x-consistency'] === 'eventual') {
          const lag = lags[Math.min(looks++, lags.length - 1)]
          return { status: 200, headers: lag === undefined ? {} : { 'x-index-lag': `${lag} versions` } }
        }
        tokens.push(headers['x-index-token'])
        return tokens.length > refusals ? { status: 200 } : { status: 503, headers: { 'retry-after': '0' } }
      },
      undefined,
      (versions) => told.push(versions),
    )
    return { isSearchable, told, tokens }
  }

  it('polls with the index token until the server answers, and reports the lag', async () => {
    const { isSearchable, told, tokens } = await waited([300], 2, 'token')
    expect([isSearchable, tokens]).toEqual([true, ['token', 'token', 'token']])
    expect([new Set(told), told.at(-1)]).toEqual([new Set([300, 0]), 0])
  })
  it.each([[[7]], [[]]])('gives up if the index makes no progress, whatever lag it reports: %j', async (lags) => {
    const { isSearchable, tokens } = await waited(lags, 1_000, 'token')
    expect([isSearchable, tokens.length >= 20]).toEqual([false, true])
  })
  it('sends no request if the server returned no index token', async () => {
    expect(await waited([], 0)).toEqual({ isSearchable: true, told: [], tokens: [] })
  })
  it('does not happen unless it is requested', async () => {
    expect(
      (await loaded({ 'a.ndjson': basic('a') }, () => ({ status: 200, headers: { 'x-index-token': 't' } }))).isSearchable,
    ).toBeUndefined()
  })
})
