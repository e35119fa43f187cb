/** Each entry of a data folder is replaced by something else. A start reports it in one line with its path, or continues, and destroys nothing. */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { logTextOf } from '../../lambdas/runtime/error-log.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { itRequiring } from '../fixtures/needing.ts'

const FILES = ['key', 'lock.db', 'address', 'store.db', 'store.db-wal', 'store.db-shm', 'index.db', 'index.db-wal', 'index.db-shm', 'index.db.next', 'index.db.next-wal', 'index.db.next-shm', 'exports.db', 'exports.db-wal', 'exports.db-shm'] // biome-ignore format: one line
const FOLDERS = ['audit', 'blobs', 'blobs/objects', 'blobs/parts', 'exports', 'exports/objects', 'exports/parts', 'usage']

type Opened = { readonly embedded: EmbeddedServer; readonly warnings: readonly string[]; readonly reported: readonly string[] }

async function opened(dataFolder: string, settings: Record<string, string> = {}): Promise<Opened> {
  const [warnings, reported]: [string[], string[]] = [[], []]
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_ACCESS: 'open', ...settings }),
    baseUrl: 'http://127.0.0.1/fhir',
    dataFolder,
    warn: (line) => warnings.push(line),
    report: (error) => reported.push(logTextOf(error)),
  })
  return { embedded, warnings, reported }
}

/** Answers of requests to a server that is closed afterwards. */
async function answersOf(
  { embedded }: Opened,
  ...requests: readonly (readonly [path: string, body?: object])[]
): Promise<readonly unknown[]> {
  const { server } = embedded
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`
  const answers: unknown[] = []
  for (const [path, body] of requests) {
    const how =
      body === undefined ? {} : { method: 'PUT', headers: { 'content-type': 'application/fhir+json' }, body: JSON.stringify(body) }
    const response = await fetch(`${base}/${path}`, how)
    answers.push(response.status, ((await response.json()) as { readonly total?: number }).total)
  }
  await embedded.close()
  return answers
}

const PATIENT = { resourceType: 'Patient', id: 'a', active: true }

/** Holds one patient. */
const kept = newFolder()
const whole = opened(kept).then((server) => answersOf(server, ['Patient/a', PATIENT], ['Patient?active=true']))

/** Returns a copy of `kept`. */
async function aFolder(): Promise<string> {
  expect(await whole).toEqual([201, undefined, 200, 1])
  const folder = newFolder()
  for (const name of readdirSync(kept, { recursive: true, encoding: 'utf8' }).sort())
    if (lstatSync(join(kept, name)).isDirectory()) mkdirSync(join(folder, name), { recursive: true })
    else writeFileSync(join(folder, name), readFileSync(join(kept, name)))
  return folder
}

/** Returns all files of a folder with digests of their content. */
const contentOf = (folder: string): unknown =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => [name, lstatSync(join(folder, name)).isFile() ? hash('sha256', readFileSync(join(folder, name))) : ''])

type Spoil = (path: string) => void
const spoilt =
  (spoil: Spoil): Spoil =>
  (path) => {
    rmSync(path, { recursive: true, force: true })
    mkdirSync(join(path, '..'), { recursive: true })
    spoil(path)
  }
const folder = spoilt((path) => mkdirSync(path))
const file = spoilt((path) => writeFileSync(path, 'Dear diary'))
const loop = spoilt((path) => symlinkSync(path, path))
const nowhere = spoilt((path) => symlinkSync(`${path}.gone`, path))

const LOST =
  'shows that the folder had a store: put it back, restore a backup (npm run fhir -- restore FILE; after an interrupted restore of a folder, empty this one and repeat it), or confirm an empty store (npm start -- --new-store). Nothing was changed'

const REFUSED: readonly (readonly [what: string, names: readonly string[], spoil: Spoil, told: string])[] = [
  ['a folder', FILES, folder, 'is not a file: move it away'],
  ['a file', FOLDERS, file, 'is not a folder: move it away'],
  ['a link to itself', [...FILES, ...FOLDERS], loop, 'cannot be read and written (ELOOP)'],
  ['a link that leads nowhere', [...FILES, ...FOLDERS], nowhere, 'is a link that leads nowhere'],
  ['something else', ['lock.db'], spoilt((path) => writeFileSync(path, 'Dear diary, '.repeat(1_000))), 'is not a lock of this server: remove it while no server runs on the folder'],
  ['something else', ['store.db'], spoilt((path) => writeFileSync(path, 'Dear diary, '.repeat(1_000))), 'is not a store of this server'],
  ['an empty file', ['store.db'], spoilt((path) => writeFileSync(path, '')), `is empty, but index.db ${LOST}`],
  ['nothing', ['store.db'], spoilt(() => undefined), `is missing, but index.db ${LOST}`],
  ['something else', ['key'], file, 'is not a key of this server'],
] // biome-ignore format: a table

describe('A start with a wrong entry in the data folder', () => {
  it.each(REFUSED.flatMap(([what, names, spoil, told]) => names.map((name) => ({ what, name, spoil, told }))))(
    'is rejected in one line, and changes nothing: %j',
    async ({ name, spoil, told }) => {
      const data = await aFolder()
      spoil(join(data, name))
      const before = contentOf(data)
      await expect(opened(data)).rejects.toThrow(new Error(`${join(data, name)} ${told}`))
      expect(contentOf(data)).toEqual(before)
    },
  )

  it('continues if the index or the address is wrong, and creates both again', async () => {
    const data = await aFolder()
    for (const name of ['index.db', 'index.db.next', 'address', 'socket']) file(join(data, name))
    const server = await opened(data)
    expect(await answersOf(server, ['Patient?active=true'])).toEqual([200, 1])
    expect([server.warnings, server.reported]).toEqual([[expect.stringContaining('it is damaged'), 'The search index is complete'], []])
  })

  it('continues without its socket, and reports that commands cannot reach the server', async () => {
    const data = await aFolder()
    const socket = join(data, 'socket')
    mkdirSync(socket)
    const server = await opened(data)
    expect(await answersOf(server, ['Patient/a'])).toEqual([200, undefined])
    expect(server.warnings).toEqual([expect.stringContaining(socket)])
    expect(server.warnings.join()).not.toContain('\n')
  })

  it.each(['batched', 'strict'])('reports a folder in place of the audit file in one line: %s', async (durability) => {
    const data = await aFolder()
    const days = [0, 1].map((ahead) => join(data, 'audit', `${new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10)}.jsonl`))
    for (const day of days) folder(day)
    const server = await opened(data, { FHIR_AUDIT_DURABILITY: durability })
    const isStrict = durability === 'strict'
    const answer = answersOf(server, ['Patient/a'])
    if (isStrict) expect(await answer).toEqual([503, undefined])
    else await expect(answer).rejects.toThrow('1 audit records are lost, for they cannot be written')
    expect(server.reported).toEqual([expect.stringMatching(`^EISDIR: .*${join(data, 'audit')}.*$`)])
    // The data folder was unlocked all the same.
    for (const day of days) rmSync(day, { recursive: true })
    expect(await answersOf(await opened(data), ['Patient/a'])).toEqual([200, undefined])
  })
})

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const asNobody = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['bin/fhir.js', ...args], { encoding: 'utf8', ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}) })
const canBeNobody = process.platform !== 'win32' && asNobody('start', '--help').status === 0

itRequiring('a user without rights', canBeNobody)('A command without the right to read a file reports it in one line', async () => {
  const data = await aFolder()
  for (const path of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })])
    if (isRoot) chownSync(join(data, path), NOBODY, NOBODY)
  for (const name of ['store.db', 'audit']) {
    chmodSync(join(data, name), 0)
    const { status, stderr } = asNobody('start', '--port', '1', '--data', data)
    expect([status, stderr]).toEqual([1, `fhir: ${join(data, name)} cannot be read and written (EACCES)\n`])
    chmodSync(join(data, name), 0o700)
  }
  chmodSync(data, 0)
  for (const [fault, ...args] of [
    [`${join(data, 'store.db')} cannot be used (EACCES, stat)`, 'backup', join(newFolder(), 'saved.db')],
    [`The server of ${data} cannot be asked (EACCES): only its user may`, 'accept-clock'],
  ] as const) {
    const { status, stderr } = asNobody(...args, '--data', data)
    expect([status, stderr]).toEqual([1, `fhir: ${fault}\n`])
  }
  chmodSync(data, 0o700)
})
