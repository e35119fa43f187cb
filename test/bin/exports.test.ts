/** Exports of a running server by a client with a key: at each level, with --since-last, and across a crash of the server. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { parseSigningKey, requestAssertionToken } from '../../bin/client/assertion-token.ts'
import type { Tree } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import { createPrintedRandom } from '../fixtures/seeded-random.ts'
import { type RunningServer, runFhir, startOpenServer, startTokenServer } from './process.ts'

const ROUNDS = caseCountOf(2, 50)

/** Returns `Type/id/version` of every line in the files of a folder. */
const namesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.ndjson'))
    .flatMap((name) => namesOf(readFileSync(join(folder, name), 'utf8')))
    .sort()

const namesOf = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .map(({ resourceType, id, meta }) => `${resourceType}/${id}/${meta.versionId}`)

const headers = { 'content-type': 'application/fhir+json' }
const bundleOf = (resources: readonly Tree[]): Tree => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: resources.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } })),
})

async function put(base: string, resources: readonly Tree[], authorization = ''): Promise<void> {
  const response = await fetch(base, { method: 'POST', headers: { ...headers, authorization }, body: JSON.stringify(bundleOf(resources)) })
  if (response.status !== 200) throw new Error(await response.text())
}

describe('A client with a key', () => {
  const folder = newFolder()
  const [data, key] = [join(folder, 'data'), join(folder, 'key.json')]
  const to = (name: string): string => join(folder, name)
  let server: RunningServer

  beforeAll(async () => {
    server = await startTokenServer('--data', data)
    await runFhir('client', 'add', 'nightly', '--new-key', key, '--scope', 'system/*.rs', '--data', data)
    const { out } = await runFhir('token', '--data', data)
    const patients = ['a', 'b', 'c'].map((id) => ({ resourceType: 'Patient', id }))
    const observations = ['a', 'b', 'c'].map((id) => ({
      ...{ resourceType: 'Observation', id: `of-${id}`, status: 'final', code: { text: 'x' } },
      subject: { reference: `Patient/${id}` },
    }))
    const member = ['a', 'b'].map((id) => ({ entity: { reference: `Patient/${id}` } }))
    const others = [
      { resourceType: 'Group', id: 'g', type: 'person', actual: true, member },
      { resourceType: 'Organization', id: 'o', name: 'O' },
    ]
    await put(server.base, [...patients, ...observations, ...others], `Bearer ${out.trim()}`)
  })

  const exported = (name: string, ...options: readonly string[]) =>
    runFhir('export', '--from', server.base, '--client', 'nightly', '--key', key, '--to', to(name), ...options)

  it.each([
    ['system', [], 'Group/g Observation/of-a Observation/of-b Observation/of-c Organization/o Patient/a Patient/b Patient/c'],
    ['patients', ['--patients'], 'Group/g Observation/of-a Observation/of-b Observation/of-c Patient/a Patient/b Patient/c'],
    ['group', ['--group', 'g'], 'Observation/of-a Observation/of-b Patient/a Patient/b'],
    ['types', ['--type', 'Patient'], 'Patient/a Patient/b Patient/c'],
    ['filtered', ['--type', 'Observation', '--type-filter', 'Observation?subject=Patient/c'], 'Observation/of-c'],
  ])('exports the resources of its level: %s', async (name, options, names) => {
    expect(await exported(name, ...options)).toMatchObject({ code: 0 })
    expect(namesIn(to(name))).toEqual(names.split(' ').map((each) => `${each}/1`))
  })

  it('exports files that another server loads; other files in the folder are reported', async () => {
    await exported('all')
    const another = await startOpenServer('--data', to('another'))
    const loaded = await runFhir('load', to('all'), '--to', another.base, '--data', to('another'))
    expect(loaded).toMatchObject({ code: 0, out: expect.stringMatching(/^8 resources of 4 files loaded/) })
    const books = ['export-state.json is not loaded: how far an export is', 'manifest.json is not loaded: the manifest of an export']
    expect(loaded.err).toBe(books.map((line) => `${join(to('all'), line)}\n`).join(''))
    expect(await runFhir('export', '--from', another.base, '--data', to('another'), '--to', to('again'))).toMatchObject({ code: 0 })
    expect(namesIn(to('again'))).toEqual(namesIn(to('all')))
    await another.stop()
  })

  it('has a key file only for its owner, which is never overwritten', async () => {
    expect(statSync(key).mode & 0o077).toBe(0)
    const again = await runFhir('client', 'add', 'another', '--new-key', key, '--scope', 'system/*.rs', '--data', data)
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('already exists') })
    const taken = await runFhir('client', 'add', 'nightly', '--new-key', to('none.json'), '--scope', 'system/*.rs', '--data', data)
    expect([taken.code, existsSync(to('none.json'))]).toEqual([1, false])
  })

  it('is refused with 404 for an unknown Group', async () => {
    expect(await exported('none', '--group', 'nobody')).toMatchObject({ code: 3, err: expect.stringContaining('404') })
  })

  it('reads a range of a file by its link, also without a token', async () => {
    await exported('parts', '--type', 'Patient')
    const { output } = JSON.parse(readFileSync(join(to('parts'), 'manifest.json'), 'utf8'))
    const whole = readFileSync(join(to('parts'), 'Patient.ndjson'), 'utf8')
    const part = await fetch(output[0].url, { headers: { range: 'bytes=5-14' } })
    expect([part.status, await part.text()]).toEqual([206, whole.slice(5, 15)])
    const token = await requestAssertionToken({
      base: server.base,
      client: 'nightly',
      key: parseSigningKey(readFileSync(key, 'utf8')),
      scope: 'system/*.rs',
    })
    const withToken = await fetch(output[0].url, { headers: { authorization: `Bearer ${token}` } })
    expect([withToken.status, await withToken.text()]).toEqual([200, whole])
  })

  it('exports only changes with --since-last', async () => {
    await exported('since', '--since-last')
    const { out } = await runFhir('token', '--data', data)
    const authorization = `Bearer ${out.trim()}`
    await put(server.base, [{ resourceType: 'Patient', id: 'd' }], authorization)
    expect(await exported('since', '--since-last')).toMatchObject({ code: 0 })
    const runs = readdirSync(to('since')).filter((name) => name !== 'export-state.json')
    expect(runs).toHaveLength(2)
    expect(namesIn(join(to('since'), runs.sort()[1]!))).toEqual(['Patient/d/1'])
    // Other tests expect the resources from before.
    expect((await fetch(`${server.base}/Patient/d`, { method: 'DELETE', headers: { authorization } })).status).toBe(204)
  })
})

describe('SIGKILL of the server during an export', () => {
  const PATIENTS = 3_000

  it(`lets the next server complete it as of the kick-off, each resource once: ${ROUNDS} times`, async () => {
    const data = newFolder()
    const versions = new Map<string, number>()
    const random = createPrintedRandom('kills of a server during an export')
    for (let round = 0; round < ROUNDS; round++) {
      const first = await startOpenServer('--data', data)
      const ids = Array.from({ length: PATIENTS }, (_, i) => `p${i}`).filter((_, i) => round === 0 || i % 3 === round % 3)
      await put(
        first.base,
        ids.map((id) => ({ resourceType: 'Patient', id, multipleBirthInteger: round })),
      )
      for (const id of ids) versions.set(id, (versions.get(id) ?? 0) + 1)
      const kicked = await fetch(`${first.base}/$export`, { headers: { accept: 'application/fhir+json', prefer: 'respond-async' } })
      const expected = [...versions].map(([id, version]) => `Patient/${id}/${version}`).sort()
      const link = kicked.headers.get('content-location')!
      // The files contain no write made after the kick-off, acknowledged or not. A later export contains it.
      const late = put(first.base, [{ resourceType: 'Basic', id: 'late', code: { text: 'x' } }]).catch(() => undefined)
      for (let left = random.below(300); left > 0; left--) await (await fetch(link)).text()
      await first.stop('SIGKILL')
      await late
      const second = await startOpenServer('--data', data)
      const found = await exportedBy(link.replace(first.base, second.base), second.base)
      expect(found.filter((name) => !name.startsWith('Basic/'))).toEqual(expected)
      expect(new Set(found).size).toBe(found.length)
      await second.stop()
    }
  }, 600_000)
})

async function exportedBy(job: string, base: string): Promise<readonly string[]> {
  const poll = async (): Promise<Response> => {
    const answer = await fetch(job)
    expect([200, 202]).toContain(answer.status)
    return answer
  }
  const answer = await eventually(poll, { until: ({ status }) => status === 200, every: 50 })
  const { output } = (await answer.json()) as { readonly output: readonly { readonly url: string; readonly count: number }[] }
  const files = await Promise.all(output.map(async ({ url }) => (await fetch(url.replace(/^.*\/fhir(?=\/)/, base))).text()))
  expect(files.map((text) => text.trimEnd().split('\n').length)).toEqual(output.map(({ count }) => count))
  return files.flatMap(namesOf).sort()
}
