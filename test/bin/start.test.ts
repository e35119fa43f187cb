/** `fhir start`: the sample, the curl lines that it prints, and its errors. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from '@jest/globals'
import { InvalidArgumentError } from 'commander'
import { baseUrl } from '../../bin/commands/options.ts'
import { freePort } from '../engines/engine.ts'
import { isAlive } from '../fixtures/alive.ts'
import { atEnd, newFolder } from '../fixtures/at-end.ts'
import { itNeeding, works } from '../fixtures/needing.ts'
import { PAGES } from '../fixtures/pages.ts'
import { fhir, json, started, startedUnder } from './process.ts'

describe('start', () => {
  itNeeding('curl', works('curl', '--version'))('--sample greets with four curl lines that work when pasted', async () => {
    const server = await started('--sample', '--data', newFolder())
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
  it('keeps everything over a restart, loads the sample once, and shows none that was deleted', async () => {
    const data = newFolder()
    for (const [versions, deletes] of [
      [1, false],
      [1, true],
    ] as const) {
      const server = await started('--sample', '--data', data)
      expect((await json(`${server.base}/Patient?_summary=count`)).total).toBe(3)
      expect((await json(`${server.base}/Patient/58c297c4-d684-4677-8024-01131d93835e/_history`)).entry).toHaveLength(versions)
      expect(server.out()).toContain('/Patient/58c297c4')
      if (deletes) await fetch(`${server.base}/Patient/58c297c4-d684-4677-8024-01131d93835e`, { method: 'DELETE' })
      await server.stop()
    }
    const server = await started('--sample', '--data', data)
    expect((await json(`${server.base}/Patient?_summary=count`)).total).toBe(2)
    expect(server.out()).not.toContain('58c297c4')
    await server.stop()
  })
  it('--memory keeps nothing, and greets with calls that work without the sample; a variable that only reads like a setting is told', async () => {
    const server = await startedUnder(['env', 'FHIR_CLIENT_ID=optional'], '--memory')
    expect(server.err()).toBe(
      'fhir: FHIR_CLIENT_ID is no setting of this server (lambdas/runtime/README.md lists them): it changes nothing\n',
    )
    const calls = [...server.out().matchAll(/^ {2}curl '?([^' \n]+)'?$/gm)].map(([, url]) => url!)
    expect(await Promise.all(calls.map(async (url) => (await json(url)).resourceType))).toEqual(['CapabilityStatement', 'Bundle'])
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
  it('ends when npm gets a signal', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Readonly<Record<string, string>> }
    expect(Object.values(scripts).filter((script) => !/(?:^|\s)exec /.test(script))).toEqual([])
    const port = await freePort()
    const npm = spawn('npm', ['start', '--', '--memory', '--port', String(port)], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    // The group outlives npm only if the signal did not reach the server.
    atEnd(() => isAlive(-npm.pid!) && process.kill(-npm.pid!, 'SIGKILL'))
    for await (const line of createInterface(npm.stdout)) if (line.startsWith('Stop it with')) break
    npm.kill('SIGTERM')
    await once(npm, 'exit')
    expect(isAlive(-npm.pid!)).toBe(false)
  })
  it('answers what is under way before it ends', async () => {
    const server = await started('--memory')
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
  it('says in one line what is wrong', async () => {
    const port = await freePort()
    const taken = createServer().listen(port, '127.0.0.1')
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    const data = newFolder()
    const server = await started('--data', data, '--base-url', 'http://[::1]:8080/fhir')
    // Some shells look for files named as what is in brackets.
    expect(
      server
        .out()
        .match(/.http:\S*/g)
        ?.slice(1),
    ).toEqual(["'http://[::1]:8080/fhir/metadata'", "'http://[::1]:8080/fhir/Patient?_count=3'", "'http://[::1]:8080/fhir'"])
    const archive = join(newFolder(), 'package.tgz')
    writeFileSync(archive, '')
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['start', '--memory', '--port', String(port)], /^fhir: Port \d+ is taken: choose another with --port\n$/],
      [['start', '--data', join(file, 'below')], /^fhir: The data folder .* is not writable \(ENOTDIR\)\n$/],
      [['start', '--data', data, '--port', '1'], /^fhir: The data folder .* is in use by another process\n$/],
      [
        ['start', '--memory', '--host', '0.0.0.0'],
        /^fhir: Tokens and passwords must not be sent in the clear: .* give --base-url https:\/\/…, .*\n$/,
      ],
      [['start', '--memory', '--open', '--host', '0.0.0.0'], /^fhir: With --open the server listens on loopback addresses only: .*\n$/],
      [['start', '--memory', '--port', '0'], /^error: .* '0' is invalid\. A port is a number from 1 to 65535\.\n$/],
      [['start', '--memory', '--data', data], /^error: option '--memory' cannot be used with option '--data <folder>'\n$/],
      [['start', '--memory', '--base-url', 'https://h/r4?x=1'], /^error: .* is invalid\. A URL without a user, a query, .*\n$/],
      [['backup', join(newFolder(), 'b.db'), '--data', newFolder()], /^fhir: There is no data in .*\n$/],
      [
        ['backup', join(newFolder(), 'nowhere', 'b.db'), '--data', data],
        /^fhir: .*b\.db cannot be written: unable to open database file\n$/,
      ],
      [['restore', file, '--data', data], /^fhir: .*file is not a store of this server\n$/],
      [['load', join(data, 'nowhere')], /^fhir: .*nowhere does not exist\n$/],
      [['load', archive], /^fhir: .*\.tgz is an archive: unpack it; a package of definitions is for package add\n$/],
      [['load', newFolder()], /^fhir: No \.json or \.ndjson files, also as \.gz, are in .*\n$/],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await fhir(...args)
      expect([args.join(' '), code, err]).toEqual([args.join(' '), 1, expect.stringMatching(message)])
    }
    taken.close()
    await server.stop()
  })
  it.each([
    'nonsense',
    'localhost:8080/fhir',
    'ftp://h/fhir',
    'https://h/fhir?',
    'https://h/fhir#x',
    'https://u:p@h/fhir',
    'https://h/my fhir',
  ])('refuses %s as its base: no path can be put after it', (url) => expect(() => baseUrl(url)).toThrow(InvalidArgumentError))
  it('takes a base with and without a slash at the end', () =>
    expect([baseUrl('https://h/a/b/'), baseUrl('http://[::1]:8080')]).toEqual(['https://h/a/b', 'http://[::1]:8080']))
  const old = (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, 'node'))
    .find((node) => /^v(?:1\d|2[0-3])\./.test(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? ''))
  itNeeding('a Node older than 24', old !== undefined)('says in one line that Node is too old', () => {
    const { status, stderr } = spawnSync(old!, ['bin/fhir.js', 'start'], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^fhir: Node 24 or newer is needed, this is v\d+\..*\n$/)])
  })
  it('explains every command, and what there is where none is named, or one that is not', async () => {
    expect(await fhir()).toMatchObject({ code: 1, out: '', err: expect.stringContaining('load [options] <paths...>') })
    expect(await fhir('lod', 'x')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: unknown command 'lod'\n\(Did you mean load\?\)/),
    })
    expect(await fhir('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    for (const command of ['start', 'token', 'launch', 'load', 'backup', 'accept-clock', 'restore']) {
      const { code, out } = await fhir(command, '--help')
      expect([command, code, out]).toEqual([command, 0, expect.stringContaining(`Usage: fhir ${command}`)])
    }
  })
})

it('the pages name no command that takes whatever Node is on the path', () => {
  for (const page of PAGES) expect([page, readFileSync(page, 'utf8').match(/(?<!npx )\bnode [\w./-]+\.ts/g)]).toEqual([page, null])
})

it('writes one audit record per request, without content', async () => {
  const data = newFolder()
  const server = await started('--data', data)
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
