/** The server that a command addresses, and its messages if there is none. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { itRequiring } from '../fixtures/needing.ts'
import { type ProcessResult, runFhir, runFhirWithInput, startTokenServer } from './process.ts'

const ADD = ['client', 'add', 'app', '--secret', '--scope', 'system/*.rs']
const USER = ['user', 'add', 'ann', '--scope', 'user/*.rs', '--fhir-user', 'Practitioner/1']

/** Commands on registrations and keys, except those that create the first one. */
const CHANGES = [
  ['client', 'list'],
  ['client', 'update', 'app', '--name', 'App'],
  ['client', 'rotate', 'app'],
  ['client', 'remove', 'app'],
  ['user', 'list'],
  ['user', 'password', 'ann'],
  ['user', 'remove', 'ann'],
  ['keys', 'list'],
]

describe('A command', () => {
  it('creates nothing in a folder without data, and names the options to use', async () => {
    const [empty, nowhere] = [newFolder(), join(newFolder(), 'nowhere')]
    for (const args of CHANGES)
      for (const folder of args[1] === 'list' ? [empty, nowhere] : [empty])
        expect(await runFhirWithInput('correct horse\n', ...args, '--data', folder)).toEqual({
          ...{ code: 1, out: '' },
          err: `fhir: There is no data in ${folder}: name the data folder of a server by --data, or the port of one that keeps nothing by --port\n`,
        })
    expect([readdirSync(empty), existsSync(nowhere)]).toEqual([[], false])
  })

  it('reports once that it created a data folder', async () => {
    const data = join(newFolder(), 'of', 'nobody')
    const made = `fhir: there was no data in ${data}, and it is made, for a server that is started with --data ${data}\n`
    expect((await runFhir(...ADD, '--data', data)).err).toBe(made)
    expect((await runFhirWithInput('correct horse\n', ...USER, '--data', data)).err).toBe('')
    expect((await runFhir('keys', 'rotate', '--data', data)).err).toBe('')
  })

  it('names the folder that is a file or cannot be created', async () => {
    const file = join(newFolder(), 'file')
    writeFileSync(file, '')
    expect((await runFhir(...ADD, '--data', file)).err).toBe(`fhir: ${file} is not a folder: move it away\n`)
    expect((await runFhir(...ADD, '--data', join(file, 'below'))).err).toBe(
      `fhir: ${join(file, 'below')} cannot be read and written (ENOTDIR)\n`,
    )
  })

  itRequiring('Linux', process.platform === 'linux')('fails with a message if the system cannot create the folder', async () => {
    for (const folder of ['/proc/nothing', '/proc/nothing/below'])
      expect([(await runFhir(...ADD, '--data', folder)).err, (await runFhir('start', '--data', folder)).err]).toEqual([
        `fhir: The data folder ${folder} cannot be made (ENOENT)\n`,
        `fhir: The data folder ${folder} is not writable (ENOENT)\n`,
      ])
  })

  it('reaches an in-memory server by its port, and no other', async () => {
    const { base, stop } = await startTokenServer('--memory')
    const at = ['--port', new URL(base).port]
    const { client_id, client_secret } = JSON.parse((await runFhir(...ADD, '--json', ...at)).out)
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    expect((await fetch(`${base}/auth/token`, { method: 'POST', body: new URLSearchParams(form) })).status).toBe(200)
    expect(await runFhirWithInput('correct horse\n', ...USER, ...at)).toMatchObject({ code: 0, err: '' })
    expect(await runFhir('keys', 'rotate', ...at)).toMatchObject({ code: 0, err: '' })
    const listed = await Promise.all(['client', 'user', 'keys'].map((what) => runFhir(what, 'list', ...at)))
    expect(listed.map(({ out }) => out.trim().split('\n').length)).toEqual([3, 2, 3])
    expect((await runFhir('client', 'list', ...at, '--data', newFolder())).err).toContain("option '--port <number>' cannot be used with")
    await stop()
    expect(await runFhir('client', 'list', ...at)).toEqual({
      ...{ code: 1, out: '' },
      err: `fhir: No server started with --memory runs on port ${at[1]}\n`,
    })
  })

  const NOBODY = 65_534
  const asNobody = (...args: readonly string[]): Promise<ProcessResult> => {
    const child = spawn(process.execPath, ['bin/fhir.js', ...args], { uid: NOBODY, gid: NOBODY })
    let [out, err] = ['', '']
    child.stdout.on('data', (data) => (out += data))
    child.stderr.on('data', (data) => (err += data))
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
  }

  itRequiring('root', process.getuid?.() === 0)('reports that the folder or server of another user is not accessible', async () => {
    const data = newFolder()
    const { stop } = await startTokenServer('--data', data)
    for (const mode of [0o700, 0o755]) {
      chmodSync(data, mode)
      for (const [args, fault] of [
        [['client', 'list'], `${data} cannot be read and written (EACCES)`],
        [ADD, `${data} cannot be read and written (EACCES)`],
        [['token'], `The server of ${data} cannot be asked (EACCES): only its user may`],
        [['accept-clock'], `The server of ${data} cannot be asked (EACCES): only its user may`],
        [['start'], `${join(data, 'lock.db')} cannot be read and written (EACCES)`],
      ] as const)
        expect(await asNobody(...args, '--data', data)).toEqual({ code: 1, out: '', err: `fhir: ${fault}\n` })
    }
    chmodSync(data, 0o700)
    const saved = await asNobody('backup', join(data, 'saved.db'), '--data', data)
    expect([saved.code, saved.err]).toEqual([1, `fhir: ${join(data, 'store.db')} cannot be used (EACCES, stat)\n`])
    await stop()
  })
})

describe('fhir load', () => {
  it('names a secret file that cannot be read, and requires --client with it', async () => {
    const [nowhere, folder] = [join(newFolder(), 'nowhere'), newFolder()]
    const file = join(folder, 'a.json')
    writeFileSync(file, '{"resourceType":"Patient","id":"a"}')
    const both = '--client ID and --secret-file FILE (its secret, - for standard input) belong together: give both or neither'
    for (const [args, fault] of [
      [['--client', 'app', '--secret-file', nowhere], `${nowhere} cannot be read (ENOENT)`],
      [['--client', 'app', '--secret-file', folder], `${folder} cannot be read (EISDIR)`],
      [['--client', 'app'], both],
      [['--secret-file', file], both],
    ] as const)
      expect(await runFhir('load', file, ...args)).toEqual({ code: 1, out: '', err: `fhir: ${fault}\n` })
  })
})

describe('fhir export', () => {
  it('requires --key or --secret-file with --client', async () => {
    const err = 'fhir: --client needs --key FILE (its private JSON Web Key) or --secret-file FILE (its secret, - for standard input)\n'
    expect(await runFhir('export', '--to', newFolder(), '--from', 'http://127.0.0.1:1/fhir', '--client', 'app')).toEqual({
      code: 2,
      out: '',
      err,
    })
  })
})
