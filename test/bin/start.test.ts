/** `fhir start`: the sample, the printed curl lines, and the end of the process. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from '@jest/globals'
import { freePort } from '../engines/engine.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { PAGES } from '../fixtures/pages.ts'
import { isAlive } from '../fixtures/running-process.ts'
import { fetchJson, startOpenServer, startOpenServerUnder, startTokenServerWithSettings } from './process.ts'

describe('fhir start', () => {
  itRequiring('curl', isProgramUsable('curl', '--version'))('--sample prints four curl lines that work when pasted', async () => {
    const server = await startOpenServer('--sample', '--data', newFolder())
    const lines = server
      .out()
      .split('\n')
      .filter((line) => line.startsWith('  curl '))
    expect(lines).toHaveLength(4)
    const answers = lines.map((line) => JSON.parse(execFileSync('sh', ['-c', line.replace('curl', 'curl -s')], { encoding: 'utf8' })))
    expect(answers.map(({ resourceType }) => resourceType)).toEqual(['Patient', 'Bundle', 'Bundle', 'Patient'])
    expect([answers[1].type, answers[1].entry.length, answers[2].type, answers[3].active, answers[3].meta.versionId]).toEqual([
      'searchset',
      3,
      'history',
      true,
      '2',
    ])
    expect(await server.stop()).toBe(0)
  })
  it('keeps its data over a restart, and loads the sample only once', async () => {
    const data = newFolder()
    for (const [versions, deletes] of [
      [1, false],
      [1, true],
    ] as const) {
      const server = await startOpenServer('--sample', '--data', data)
      expect((await fetchJson(`${server.base}/Patient?_summary=count`)).total).toBe(3)
      expect((await fetchJson(`${server.base}/Patient/58c297c4-d684-4677-8024-01131d93835e/_history`)).entry).toHaveLength(versions)
      expect(server.out()).toContain('/Patient/58c297c4')
      if (deletes) await fetch(`${server.base}/Patient/58c297c4-d684-4677-8024-01131d93835e`, { method: 'DELETE' })
      await server.stop()
    }
    const server = await startOpenServer('--sample', '--data', data)
    expect((await fetchJson(`${server.base}/Patient?_summary=count`)).total).toBe(2)
    expect(server.out()).not.toContain('58c297c4')
    await server.stop()
  })
  it('--memory stores nothing, prints working calls, and warns of an unknown setting', async () => {
    const server = await startOpenServerUnder(['env', 'FHIR_CLIENT_ID=optional'], '--memory')
    expect(server.err()).toBe(
      'fhir: FHIR_CLIENT_ID is no setting of this server (lambdas/docs/settings.md lists them): it changes nothing\n',
    )
    const calls = [...server.out().matchAll(/^ {2}curl '?([^' \n]+)'?$/gm)].map(([, url]) => url!)
    expect(await Promise.all(calls.map(async (url) => (await fetchJson(url)).resourceType))).toEqual(['CapabilityStatement', 'Bundle'])
    expect(
      (
        await fetch(`${server.base}/Patient/1`, {
          method: 'PUT',
          body: '{"resourceType":"Patient","id":"1","active":true}',
          headers: { 'content-type': 'application/fhir+json' },
        })
      ).status,
    ).toBe(201)
    expect(await server.stop()).toBe(0)
  })
  it('--open rejects requests that a proxy forwards', async () => {
    const server = await startOpenServer('--memory')
    const statusOf = async (headers: Record<string, string>) => (await fetch(`${server.base}/metadata`, { headers })).status
    expect([await statusOf({}), await statusOf({ 'x-forwarded-for': '192.0.2.1' })]).toEqual([200, 403])
    await server.stop()
  })
  it('prints which requests need a token', async () => {
    for (const [settings, expected] of [
      [{}, 'Requests need an access token. '],
      [{ FHIR_PUBLIC_READ: 'system/Location.rs' }, 'Requests need an access token, except the reads of FHIR_PUBLIC_READ. '],
    ] as const) {
      const server = await startTokenServerWithSettings(settings, '--memory')
      expect(server.out()).toContain(`\n${expected}No data is stored.\n`)
      await server.stop()
    }
  })
  it('ends when npm receives a signal', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Readonly<Record<string, string>> }
    expect(Object.values(scripts).filter((script) => !/(?:^|\s)exec /.test(script))).toEqual([])
    const port = await freePort()
    const npm = spawn('npm', ['start', '--', '--memory', '--port', String(port)], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    // The group outlives npm only if the signal did not reach the server.
    runAtEnd(() => isAlive(-npm.pid!) && process.kill(-npm.pid!, 'SIGKILL'))
    for await (const line of createInterface(npm.stdout)) if (line.startsWith('Stop it with')) break
    npm.kill('SIGTERM')
    await once(npm, 'exit')
    expect(isAlive(-npm.pid!)).toBe(false)
  })
  it('answers running requests before it ends', async () => {
    const server = await startOpenServer('--memory')
    const answers = Array.from({ length: 50 }, (_, i) =>
      fetch(`${server.base}/Patient/${i}`, {
        method: 'PUT',
        body: JSON.stringify({ resourceType: 'Patient', id: String(i), active: true }),
        headers: { 'content-type': 'application/fhir+json' },
      }).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    await Promise.race(answers)
    const code = server.stop()
    const statuses = await Promise.all(answers)
    expect(statuses.filter((status) => status !== 201 && status !== 0)).toEqual([])
    expect(await code).toBe(0)
  })
})

it('the pages name no command that depends on the Node in the path', () => {
  for (const page of PAGES) expect([page, readFileSync(page, 'utf8').match(/(?<!npx )\bnode [\w./-]+\.ts/g)]).toEqual([page, null])
})

it('writes one audit record per request, without content', async () => {
  const data = newFolder()
  const server = await startOpenServer('--data', data)
  const sentinel = 'Sentinel'
  await fetch(`${server.base}/Patient/1`, {
    method: 'PUT',
    body: JSON.stringify({ resourceType: 'Patient', id: '1', name: [{ family: sentinel }] }),
    headers: { 'content-type': 'application/fhir+json', 'x-request-id': 'r-1' },
  })
  await fetch(`${server.base}/Patient?family=${sentinel}`)
  await fetch(`${server.base}/Patient/nobody`)
  await fetch(`${server.base}/nothing/here/x/y/z`)
  await server.stop()
  const [file] = readdirSync(join(data, 'audit'))
  const text = readFileSync(join(data, 'audit', file!), 'utf8')
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(records.map(({ interaction, status, key }) => [interaction, status, key])).toEqual([
    ['update', 201, 'Patient/1'],
    ['search-type', 200, undefined],
    ['read', 404, 'Patient/nobody'],
    ['fallback', 404, undefined],
  ])
  expect(records[0]).toEqual({
    at: expect.stringMatching(/Z$/),
    requestId: 'r-1',
    tenant: 'default',
    interaction: 'update',
    key: 'Patient/1',
    patients: ['Patient/1'],
    status: 201,
    duration: expect.any(Number),
  })
  expect(text).not.toContain(sentinel)
})
