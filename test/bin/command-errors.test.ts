/** Messages of the commands about wrong arguments, and their help. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { InvalidArgumentError } from 'commander'
import { parseBaseUrl } from '../../bin/commands/options.ts'
import { freePort } from '../engines/engine.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { itRequiring } from '../fixtures/needing.ts'
import { runFhir, startOpenServer } from './process.ts'

describe('The fhir command', () => {
  it('reports a wrong argument or state in one line', async () => {
    const port = await freePort()
    const taken = createServer().listen(port, '127.0.0.1')
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    const data = newFolder()
    const server = await startOpenServer('--data', data, '--base-url', 'http://[::1]:8080/fhir')
    // The URLs are quoted, because some shells expand brackets as file name patterns.
    expect(
      server
        .out()
        .match(/.http:\S*/g)
        ?.slice(1),
    ).toEqual([
      // A sentence names it for a browser. Only commands need quotes.
      ' http://[::1]:8080/fhir',
      "'http://[::1]:8080/fhir/metadata'",
      "'http://[::1]:8080/fhir/Patient?_count=3'",
      "'http://[::1]:8080/fhir'",
    ])
    const archive = join(newFolder(), 'package.tgz')
    writeFileSync(archive, '')
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['start', '--memory', '--port', String(port)], /^fhir: Port \d+ is taken: choose another with --port\n$/],
      [['start', '--data', join(file, 'below')], /^fhir: The data folder .* is not writable \(ENOTDIR\)\n$/],
      [['start', '--data', data, '--port', '1'], /^fhir: The data folder .* is in use by another process\n$/],
      [
        ['start', '--memory', '--host', '0.0.0.0'],
        /^fhir: Tokens and passwords must not be sent in the clear: give --base-url https:\/\/…, .*\n$/,
      ],
      [['start', '--memory', '--open', '--host', '0.0.0.0'], /^fhir: With --open the server listens on loopback addresses only: .*\n$/],
      [
        ['start', '--memory', '--open', '--base-url', 'https://fhir.example.org/fhir'],
        /^fhir: Open mode \(--open\) needs a base URL with a loopback address, not https:\/\/fhir\.example\.org\/fhir: .*\n$/,
      ],
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
      const { code, err } = await runFhir(...args)
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
  ])('rejects %s as a base URL: no path can be appended to it', (url) => expect(() => parseBaseUrl(url)).toThrow(InvalidArgumentError))
  it('accepts a base URL with and without a trailing slash', () =>
    expect([parseBaseUrl('https://h/a/b/'), parseBaseUrl('http://[::1]:8080')]).toEqual(['https://h/a/b', 'http://[::1]:8080']))
  const old = (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, 'node'))
    .find((node) => /^v(?:1\d|2[0-3])\./.test(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? ''))
  itRequiring('a Node older than 24', old !== undefined)('reports in one line that Node is too old', () => {
    const { status, stderr } = spawnSync(old!, ['bin/fhir.js', 'start'], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^fhir: Node 24 or newer is needed, this is v\d+\..*\n$/)])
  })
  it('explains each command, lists them without one, and suggests a similar name', async () => {
    expect(await runFhir()).toMatchObject({ code: 1, out: '', err: expect.stringContaining('load [options] <paths...>') })
    expect(await runFhir('lod', 'x')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: unknown command 'lod'\n\(Did you mean load\?\)/),
    })
    expect(await runFhir('--version')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    for (const command of ['start', 'token', 'launch', 'load', 'backup', 'accept-clock', 'restore']) {
      const { code, out } = await runFhir(command, '--help')
      expect([command, code, out]).toEqual([command, 0, expect.stringContaining(`Usage: fhir ${command}`)])
    }
  })
})
