/** An embedded server with a wrong system clock: it stamps and sweeps nothing, and a wrong time does not affect other resources. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { acceptClock } from '../../lambdas/runtime/control/clock-command.ts'
import { openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import type { Tree } from '../api/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import { DAY, SetClock, YEAR } from '../fixtures/set-clock.ts'

async function serverOn(dataFolder: string, times: SetClock) {
  const warnings: string[] = []
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_ACCESS: 'open' }),
    baseUrl: 'http://127.0.0.1/fhir',
    dataFolder,
    times,
    warn: (line) => warnings.push(line),
    report: failOnReport,
  })
  let isClosed = false
  const close = async (): Promise<void> => {
    if (!isClosed) await embedded.close()
    isClosed = true
  }
  runAtEnd(close)
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir`
  const send = async (method: string, path: string, body?: object) => {
    const headers = { 'content-type': 'application/fhir+json' }
    const response = await fetch(`${base}/${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    return { status: response.status, headers: response.headers, body: (await response.json()) as Tree }
  }
  const put = (id: string, gender: string) => send('PUT', `Patient/${id}`, { resourceType: 'Patient', id, gender })
  return { warnings, close, send, put }
}

it('rejects writes and sweeps nothing while the clock is ten years ahead and not accepted', async () => {
  const data = newFolder()
  const times = new SetClock('2026-06-01T12:00:00Z')
  const { put, send, close, warnings } = await serverOn(data, times)
  mkdirSync(join(data, 'audit'), { recursive: true })
  const kept = ['2026-05-30', '2026-05-31'].map((day) => join(data, 'audit', `${day}.jsonl`))
  for (const file of kept) writeFileSync(file, '')
  expect((await put('a', 'male')).status).toBe(201)
  times.set(10 * YEAR)
  const refused = await put('a', 'female')
  // Its audit record is written, under the day before the jump.
  await eventually(() => existsSync(join(data, 'audit', '2026-06-01.jsonl')))
  expect(kept.map((file) => existsSync(file))).toEqual([true, true])
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60'])
  expect(JSON.stringify(refused.body)).toContain('clock jumped')
  expect((await send('GET', 'Patient/a')).body).toMatchObject({ gender: 'male', meta: { versionId: '1' } })
  times.set(-10 * YEAR)
  expect((await put('a', 'female')).body.meta.lastUpdated).toMatch(/^2026-06-01T12:00/)
  times.set(10 * YEAR)
  expect((await put('b', 'male')).status).toBe(503)
  await acceptClock(data)
  expect((await put('b', 'male')).body.meta.lastUpdated).toMatch(/^2036-/)
  expect(warnings).toEqual(Array(2).fill(expect.stringContaining('The clock jumped from 2026-')))
  // Accepted, it also sweeps.
  await eventually(() => !kept.some((file) => existsSync(file)))
  await close()
})

it('starts ten years after its newest version without writing or sweeping', async () => {
  const data = newFolder()
  const first = await serverOn(data, new SetClock('2026-06-01T12:00:00Z'))
  for (const id of ['a', 'b']) await first.put(id, 'male')
  // The links of a long search refer to its stored parameters.
  expect((await first.send('GET', `Patient?_count=1&_id=a,b,${'x'.repeat(4_000)}`)).body.link).toHaveLength(3)
  await first.close()
  const sweepable = () => [readdirSync(join(data, 'audit')), readdirSync(join(data, 'blobs', 'objects'))]
  const files = sweepable()
  expect(files.map(({ length }) => length)).toEqual([1, 1])
  const recorded = (): number =>
    readdirSync(join(data, 'audit')).reduce((bytes, name) => bytes + statSync(join(data, 'audit', name)).size, 0)
  const before = recorded()
  const second = await serverOn(data, new SetClock('2036-06-01T12:00:00Z'))
  expect((await second.put('a', 'female')).status).toBe(503)
  expect(second.warnings).toEqual([expect.stringContaining('the newest version is of 2026-06-01T12:00:00.000Z')])
  // A sweep would follow the audit record of the refused write.
  await eventually(() => recorded() > before)
  await second.close()
  for (const [i, left] of sweepable().entries()) expect(left).toEqual(expect.arrayContaining(files[i]!))
})

it('uses the right time after a wrong clock, with complete histories and valid cursors', async () => {
  const data = newFolder()
  const wrong = await serverOn(data, new SetClock('2036-06-01T12:00:00Z'))
  for (const id of ['a', 'b', 'c']) await wrong.put(id, 'male')
  await wrong.close()
  const times = new SetClock('2026-06-01T12:00:00Z')
  const { put, send, warnings } = await serverOn(data, times)
  expect(warnings).toEqual([expect.stringContaining('there is a version of 2036-')])
  const created = (await put('d', 'male')).body.meta.lastUpdated
  expect(created).toMatch(/^2026-06-01/)
  const head = (await send('GET', 'Patient/a')).body.meta.lastUpdated
  const updated = (await put('a', 'female')).body.meta.lastUpdated
  expect(Date.parse(updated)).toBe(Date.parse(head) + 1)
  times.pass(DAY)
  const seen: string[] = []
  for (let next: string | undefined = 'Patient/_history?_count=2'; next !== undefined; ) {
    const { body } = await send('GET', next)
    seen.push(...body.entry.map(({ resource }: Tree) => `${resource.id}/${resource.meta.versionId}`))
    next = body.link.find(({ relation }: Tree) => relation === 'next')?.url.replace('http://127.0.0.1/fhir/', '')
    if (seen.length === 2) await put('e', 'male')
  }
  expect(seen.toSorted()).toEqual(['a/1', 'a/2', 'b/1', 'c/1', 'd/1', 'e/1'])
  expect(seen.indexOf('e/1')).toBe(4)
  const since = (await send('GET', `Patient/_history?_since=2026-06-02T00:00:00Z`)).body.entry
  expect(since.map(({ resource }: Tree) => resource.id).toSorted()).toEqual(['a', 'a', 'b', 'c', 'e'])
  expect((await send('GET', 'Patient?_lastUpdated=lt2027')).body.total).toBe(2)
})
