/** `fhir backup --all` and `fhir restore` of its folder: the restored server continues where the backup began. */
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { AuditFile } from '../../lambdas/adapters/filesystem/audit-file.ts'
import { backupFolder } from '../../lambdas/runtime/control/full-backup.ts'
import type { Tree } from '../api/server.ts'
import type { TestResponse } from '../auth/authorization.ts'
import { type AuthorizationServer, allowAccess, logIn, openBrowser, redirectOf } from '../auth/browser.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { itRequiring } from '../fixtures/needing.ts'
import { basicWithColor, COLORS_VALUE_SET, guideCanonicalOf, guideFilesOf, writeArchiveFile } from '../fixtures/packages.ts'
import { type ProcessResult, type RunningServer, runFhir, runFhirWithInput, startTokenServer } from './process.ts'

/** Base URL of every server of this file, because tokens name it. The servers listen on other ports. */
const BASE = 'http://127.0.0.1:8080/fhir'
/** Number of the user `nobody`. */
const OTHER_USER = 65_534
const PASSWORD = 'correct horse battery'
const JANE = ['--scope', 'user/*.rs', '--fhir-user', 'Practitioner/jane']
const REDIRECT = 'http://127.0.0.1:3000/callback'
const SCOPE = 'openid user/*.rs offline_access'
const NICKNAME = {
  ...{ resourceType: 'SearchParameter', id: 'nickname', url: 'http://example.org/nickname', name: 'nickname', status: 'active' },
  ...{ description: 'nickname', code: 'nickname', base: ['Patient'], type: 'string' },
  expression: "Patient.name.where(use = 'nickname').given",
}

const start = (data: string): Promise<RunningServer> => startTokenServer('--data', data, '--base-url', BASE)

const send = (server: RunningServer, token: string, method: string, path: string, body?: Tree): Promise<Response> =>
  fetch(`${server.base}/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

const printed = ({ code, out, err }: ProcessResult): string => {
  expect([code, err]).toEqual([0, ''])
  return out
}

const tokenResponse = async (server: RunningServer, form: Readonly<Record<string, string>>): Promise<Tree> =>
  (await fetch(`${server.base}/auth/token`, { method: 'POST', body: new URLSearchParams(form) })).json()

const clientToken = async (server: RunningServer, secret: string): Promise<string> =>
  (await tokenResponse(server, { grant_type: 'client_credentials', client_id: 'reporting', client_secret: secret, scope: 'system/*.rs' }))
    .access_token

const networkOf = (server: RunningServer): AuthorizationServer => ({
  async ask(method, path, { query = '', form, headers = {} } = {}): Promise<TestResponse> {
    const body = form === undefined ? {} : { body: new URLSearchParams(form) }
    const response = await fetch(`${server.base}${path}?${new URLSearchParams(query)}`, { method, headers, redirect: 'manual', ...body })
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text(), body: undefined }
  },
})

/** Logs jane in and returns the tokens of the app. */
async function login(server: RunningServer): Promise<Tree> {
  const jane = openBrowser(networkOf(server), BASE)
  const page = await jane.open('/auth/authorize', {
    ...{ client_id: 'my-app', response_type: 'code', redirect_uri: REDIRECT, aud: BASE, scope: SCOPE },
  })
  const { sent } = redirectOf(await allowAccess(jane, await logIn(jane, page, 'jane', PASSWORD)))
  return tokenResponse(server, { grant_type: 'authorization_code', client_id: 'my-app', redirect_uri: REDIRECT, code: sent.code! })
}

const refresh = (server: RunningServer, token: string): Promise<Tree> =>
  tokenResponse(server, { grant_type: 'refresh_token', client_id: 'my-app', refresh_token: token })

/** Severity and code of the issues of a Basic with a color that the package does not allow. */
async function colorIssues(server: RunningServer, token: string): Promise<readonly string[]> {
  const path = `Basic/$validate?profile=${encodeURIComponent(guideCanonicalOf('with-color'))}`
  const { issue } = await (await send(server, token, 'POST', path, basicWithColor('blue'))).json()
  return issue.map(({ severity, code }: Tree) => `${severity} ${code}`)
}

const nicknames = async (server: RunningServer, token: string): Promise<readonly string[]> =>
  ((await (await send(server, token, 'GET', 'Patient?nickname=maxi')).json()).entry ?? []).map(({ resource }: Tree) => resource.id)

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))

describe('A server that is backed up while clients write', () => {
  let server: RunningServer
  let saved: string
  let secret: string
  let accessToken: string
  let refreshToken: string
  /** Ids whose writes were acknowledged before the backup began. */
  let acknowledged: readonly string[]

  beforeAll(async () => {
    const data = newFolder()
    const fhir = (...args: readonly string[]) => runFhir(...args, '--data', data)
    server = await start(data)
    const token = printed(await fhir('token', '--admin')).trim()
    ;[, secret = ''] = /client_secret {2}(\S+)/.exec(
      printed(await fhir('client', 'add', 'reporting', '--secret', '--scope', 'system/*.rs')),
    )!
    printed(await fhir('client', 'add', 'my-app', '--public', '--scope', SCOPE, '--redirect-uri', 'http://127.0.0.1/callback'))
    printed(await runFhirWithInput(`${PASSWORD}\n`, 'user', 'add', 'jane', ...JANE, '--data', data))
    const guide = guideFilesOf('1.0.0', { 'package/ValueSet-colors.json': COLORS_VALUE_SET })
    printed(await fhir('package', 'add', await writeArchiveFile(guide)))
    expect((await send(server, token, 'PUT', 'SearchParameter/nickname', NICKNAME)).status).toBe(201)
    const max = { resourceType: 'Patient', id: 'max', name: [{ use: 'nickname', given: ['Maxi'] }] }
    expect((await send(server, token, 'PUT', 'Patient/max', max)).status).toBe(201)
    accessToken = await clientToken(server, secret)
    refreshToken = (await login(server)).refresh_token

    const written: string[] = []
    let isSaved = false
    const writing = async (): Promise<void> => {
      for (let n = 0; !isSaved; n++) {
        const response = await send(server, token, 'PUT', `Patient/w${n}`, { resourceType: 'Patient', id: `w${n}` })
        expect(response.status).toBe(201)
        written.push(`w${n}`)
      }
    }
    const ended = writing()
    await eventually(() => written.length >= 20)
    acknowledged = [...written]
    saved = join(newFolder(), 'monday')
    const backup = await fhir('backup', '--all', saved)
    isSaved = true
    await ended
    expect(printed(backup)).toBe(
      `${data} is saved in ${saved}; guard it like the data folder: it holds signing keys and password digests\n`,
    )
    expect(written.length).toBeGreaterThan(acknowledged.length)
    await server.stop()
  })

  it('continues in an empty folder with its data, users, clients, tokens, grants and packages', async () => {
    const data = join(newFolder(), 'new')
    expect(printed(await runFhir('restore', saved, '--data', data))).toContain(`${saved} is restored in ${data}: start the server`)
    const restored = await start(data)
    // The lines of the index appear while the server is already answering.
    expect(restored.err().replace(/^fhir: The search index .*\n/gm, '')).toBe('')
    for (const id of acknowledged) expect([id, (await send(restored, accessToken, 'GET', `Patient/${id}`)).status]).toEqual([id, 200])
    expect(await eventually(() => nicknames(restored, accessToken), { until: (ids) => ids.length > 0 })).toEqual(['max'])
    expect(await colorIssues(restored, await clientToken(restored, secret))).toContain('error code-invalid')
    expect((await refresh(restored, refreshToken)).access_token).toEqual(expect.any(String))
    expect((await login(restored)).access_token).toEqual(expect.any(String))
    await restored.stop()
  })

  it('has a backup that only its user can read, with complete audit records', () => {
    const modes = [saved, ...filesIn(saved)].map((path) => [path, statSync(path).mode & 0o777])
    expect(modes.filter(([path, mode]) => mode !== (statSync(String(path)).isDirectory() ? 0o700 : 0o600))).toEqual([])
    const audit = filesIn(join(saved, 'audit')).map((path) => readFileSync(path, 'utf8'))
    const records = audit.flatMap((text) =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).interaction),
    )
    expect(records).toEqual(expect.arrayContaining(['user add', 'client add', 'package add', 'update']))
  })

  itRequiring('a user with the rights of root', process.geteuid?.() === 0)(
    'belongs to the user of the data folder, also if root restores it',
    async () => {
      const data = newFolder()
      chownSync(data, OTHER_USER, OTHER_USER)
      expect((await runFhir('restore', saved, '--data', data)).code).toBe(0)
      expect(filesIn(data).length).toBeGreaterThan(8)
      expect(filesIn(data).filter((path) => statSync(path).uid !== OTHER_USER)).toEqual([])
    },
  )

  /** Changes a copy of the backup, and returns the result of its restore and what is then in the data folder. */
  async function restoreChanged(change: (folder: string) => void): Promise<readonly unknown[]> {
    const [copy, data] = [join(newFolder(), 'copy'), newFolder()]
    cpSync(saved, copy, { recursive: true })
    change(copy)
    const { code, err } = await runFhir('restore', copy, '--data', data)
    return [code, err.replaceAll(copy, 'COPY'), readdirSync(data).filter((name) => name !== 'lock.db')]
  }

  const flip = (file: string): void => {
    const bytes = readFileSync(file)
    bytes[bytes.length - 1]! ^= 1
    writeFileSync(file, bytes)
  }

  it.each<readonly [string, (folder: string) => void, string]>([
    ['did not finish', (copy) => rmSync(join(copy, 'backup.json')), 'COPY is an incomplete backup: backup.json is missing'],
    ['has a damaged list', (copy) => writeFileSync(join(copy, 'backup.json'), '{"format'), 'COPY/backup.json is damaged'],
    ['has a damaged file', (copy) => flip(join(copy, 'grants.db')), 'COPY/grants.db is damaged: the backup cannot be restored'],
    ['has a damaged store', (copy) => flip(join(copy, 'store.db')), 'COPY/store.db is damaged: the backup cannot be restored'],
    ['lacks a file', (copy) => rmSync(join(copy, 'key')), 'COPY/key is missing: the backup cannot be restored'],
    [
      'names files outside',
      (copy) => writeFileSync(join(copy, 'backup.json'), readFileSync(join(copy, 'backup.json'), 'utf8').replace('"key"', '"../key"')),
      'COPY/backup.json is damaged',
    ],
    [
      'is from a newer server',
      (copy) => writeFileSync(join(copy, 'backup.json'), '{"format":"fhir-backup-2"}'),
      'COPY was written by a newer version of this server',
    ],
  ])('is not restored from a backup that %s', async (_, change, message) => {
    expect(await restoreChanged(change)).toEqual([1, expect.stringContaining(`fhir: ${message}`), []])
  })

  it('is not restored into a folder with data, which stays as it is', async () => {
    const data = newFolder()
    await runFhir('client', 'add', 'other', '--secret', '--scope', 'system/*.rs', '--data', data)
    const before = filesIn(data)
    const { code, err } = await runFhir('restore', saved, '--data', data)
    expect([code, err]).toEqual([1, expect.stringMatching(/has data \(.*\), and a backup of everything needs an empty folder/)])
    expect(filesIn(data).filter((path) => !path.endsWith('lock.db'))).toEqual(before)
    expect((await runFhir('client', 'list', '--data', data)).out).toContain('other')
  })

  it('is not started on a folder in which a restore was interrupted', async () => {
    const data = newFolder()
    for (const name of readdirSync(saved))
      if (!['store.db', 'backup.json'].includes(name)) cpSync(join(saved, name), join(data, name), { recursive: true })
    const { code, err } = await runFhir('start', '--data', data, '--port', '1')
    expect([code, err]).toEqual([1, expect.stringContaining('store.db is missing, but')])
  })
})

describe('backupFolder', () => {
  const folderWithData = async (): Promise<string> => {
    const data = newFolder()
    expect((await runFhir('client', 'add', 'app', '--secret', '--scope', 'system/*.rs', '--data', data)).code).toBe(0)
    return data
  }

  it.each(['audit', 'usage'])('leaves out the reserved space and the unfinished line of a file in %s', async (name) => {
    const data = await folderWithData()
    const file = join(data, name, '2026-01-01.jsonl')
    const open = await AuditFile.open(file)
    await open.reserve(1_000)
    await open.append('{"interaction":"read"}\n', true)
    await open.append('{"interac', true)
    const saved = join(newFolder(), 'saved')
    await backupFolder(data, saved, () => undefined)
    expect(readFileSync(join(saved, name, '2026-01-01.jsonl'), 'utf8')).toBe('{"interaction":"read"}\n')
    await open.close()
  })

  it('refuses a folder that lost its grants or has damaged ones, and leaves no backup', async () => {
    const data = await folderWithData()
    mkdirSync(join(data, 'signing-keys'), { recursive: true })
    writeFileSync(join(data, 'signing-keys', 'a.json'), '{}')
    const saved = join(newFolder(), 'saved')
    const grants = join(data, 'grants.db')
    const whole = readFileSync(grants)
    writeFileSync(grants, Buffer.concat([whole.subarray(0, 4_096), Buffer.alloc(whole.length - 4_096, 1)]))
    await expect(backupFolder(data, saved, () => undefined)).rejects.toThrow(`${grants} is damaged: no backup was made`)
    expect(existsSync(saved)).toBe(false)
    rmSync(grants)
    await expect(backupFolder(data, saved, () => undefined)).rejects.toThrow(`${grants} was lost`)
    expect(existsSync(saved)).toBe(false)
  })

  it('refuses a folder without data, and one that exists', async () => {
    await expect(backupFolder(newFolder(), join(newFolder(), 'saved'), () => undefined)).rejects.toThrow('There is no data in')
    const { code, err } = await runFhir('backup', '--all', newFolder(), '--data', await folderWithData())
    expect([code, err]).toEqual([1, expect.stringContaining('exists already')])
  })
})
