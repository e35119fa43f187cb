/** A store with a damaged file, page by page: each answer is correct or reports the damage. */
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { backupStoreFile, checkStoreFile } from '../../../lambdas/adapters/sqlite-store/backup.ts'
import { SqliteChangeFeed } from '../../../lambdas/adapters/sqlite-store/change-feed.ts'
import { SqliteResourceStore } from '../../../lambdas/adapters/sqlite-store/resource-store.ts'
import { StoreFileError } from '../../../lambdas/adapters/sqlite-store/schema.ts'
import { isFault } from '../../../lambdas/ports/faults.ts'
import type { ResourceVersion, Write } from '../../../lambdas/ports/store/resource-store.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { caseStepOf } from '../../fixtures/long-runs.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { readAllVersions } from '../../fixtures/scans.ts'
import { incompressibleTextOf, patientKeyOf, versionOf as version, writeOf as write } from '../../fixtures/versions.ts'

const PAGE = 8_192
/** Distance between damaged pages: coprime to the structure of the files. */
const STEP = caseStepOf(11, 1)
const RESOURCES = 250

const folder = newFolder()

const sound = join(folder, 'sound.db')
const pages = (): number => statSync(sound).size / PAGE
const type = { tenant: 't', type: 'Patient' }
const keys = Array.from({ length: RESOURCES }, (_, n) => patientKeyOf(`p${(n * 7919) % 10_007}`))

/** Two versions of each resource but one. Keys of the first are in their table, those of the second are recent. One body is large. */
beforeAll(async () => {
  const first = await SqliteResourceStore.open({ file: sound, mostRecent: 1 })
  await first.commit(writesOf(0), [])
  await first.commit([writeOf('old', 0)], [])
  const db = new DatabaseSync(sound, { readOnly: true })
  const isTakenOver = db.prepare("SELECT seq FROM key WHERE id = 'old' AND NOT EXISTS (SELECT * FROM recent WHERE seq > 0)")
  await eventually(() => isTakenOver.get())
  db.close()
  await first.close()
  const second = await SqliteResourceStore.open({ file: sound })
  await second.commit(writesOf(1), [])
  await second.close()
})

describe.each([
  ['zeros', () => Buffer.alloc(PAGE)],
  ['noise', () => Buffer.from(Array.from({ length: PAGE }, (_, n) => (n * 167 + (n >> 3)) % 251))],
])('A store with a page of %s', (name, contents) => {
  it('answers correctly or reports damage; its backup is refused', async () => {
    const answers = { sound: 0, damaged: 0 }
    let refused = 0
    let tried = 0
    const wrong = new Set<string>()
    for (let page = 1 + (name.length % STEP); page < pages(); page += STEP) {
      const file = damagedAt(page, contents())
      if (readFileSync(file).equals(readFileSync(sound))) continue
      tried++
      const store = await SqliteResourceStore.open({ file }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreFileError)
        expect(String(error)).toContain('damaged')
      })
      if (store === undefined) {
        refused++
        continue
      }
      for (const answer of await answersOf(store, file)) {
        if (answer === 'sound' || answer === 'damaged') answers[answer]++
        else wrong.add(`page ${page}: ${answer}`)
      }
      await store.close()
    }
    expect([...wrong]).toEqual([])
    expect(tried).toBeGreaterThan(5)
    expect(refused).toBeLessThan(tried / 2)
    expect(answers.sound).toBeGreaterThan(answers.damaged)
    expect(answers.damaged).toBeGreaterThan(tried - refused)
  }, 300_000)
})

describe('A changed version', () => {
  it.each([
    ['the body', "UPDATE version SET body = x'00'"],
    ['the compartments', "UPDATE version SET compartments = 'Patient/another'"],
    ['the instant', 'UPDATE version SET lastUpdated = lastUpdated + 1'],
    ['the deletion flag', 'UPDATE version SET deleted = 1'],
    ['the write kind', 'UPDATE version SET made = 2'],
    ['the whole row', 'DELETE FROM version'],
  ])('is damaged by a change of %s', async (_, change) => {
    const file = join(folder, 'changed.db')
    copyFileSync(sound, file)
    const [key, other] = [keys[7]!, keys[8]!]
    const db = new DatabaseSync(file)
    db.prepare(`${change} WHERE id = ?`).run(key.id)
    db.close()
    const store = await SqliteResourceStore.open({ file })
    await expect(store.current([key])).rejects.toEqual(fault('store-damaged'))
    await expect(store.versions([{ ...key, versionId: 1 }])).rejects.toEqual(fault('store-damaged'))
    expect(told(await store.current([other]))).toBe(told([versionOf(other.id, 2)]))
    if (!change.startsWith('DELETE')) expect(await damagedIn(store)).toEqual([key.id])
    expect(await store.heads([key])).toEqual([{ ...key, versionId: 2, deleted: false, damage: fault('store-damaged') }])
    expect(await store.commit([writeOf(key.id, 2)], [])).toEqual({ kind: 'committed' })
    expect(told(await store.current([key]))).toBe(told([versionOf(key.id, 3)]))
    await expect(store.versions([{ ...key, versionId: 2 }])).rejects.toEqual(fault('store-damaged'))
    await store.close()
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  })

  it.each(['vid', 'lastUpdated', 'deleted', 'sum', 'made', 'dictionary'])('is damaged by too large a number in %s', async (column) => {
    const file = join(folder, 'too-large.db')
    copyFileSync(sound, file)
    const [key, other] = [keys[7]!, keys[8]!]
    const db = new DatabaseSync(file)
    db.prepare(`UPDATE version SET ${column} = ${2n ** 53n} WHERE id = ?`).run(key.id)
    db.close()
    const store = await SqliteResourceStore.open({ file })
    await expect(store.current([key])).rejects.toEqual(fault('store-damaged'))
    expect(told(await store.current([other]))).toBe(told([versionOf(other.id, 2)]))
    expect(store.newest()).toBe((await store.current([other]))[0]!.lastUpdated)
    await store.close()
    const feed = new SqliteChangeFeed(file)
    const changes = feed.changes(0, 10_000).map(({ version }) => [version.id, version.body.length > 0])
    expect(changes).toEqual(expect.arrayContaining([[key.id, false], [other.id, true]])) // biome-ignore format: two
    feed.close()
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  })

  it('is damaged and replaceable if its row is gone but an old key remains', async () => {
    const file = join(folder, 'gone.db')
    copyFileSync(sound, file)
    const db = new DatabaseSync(file)
    db.exec("DELETE FROM version WHERE id = 'old'")
    db.close()
    const store = await SqliteResourceStore.open({ file })
    const key = patientKeyOf('old')
    await expect(store.current([key])).rejects.toEqual(fault('store-damaged'))
    await expect(store.versions([{ ...key, versionId: 1 }])).rejects.toEqual(fault('store-damaged'))
    expect(await store.heads([key])).toMatchObject([{ ...key, versionId: 1 }])
    expect(await store.commit([writeOf('old', 1)], [])).toEqual({ kind: 'committed' })
    expect(told(await store.current([key]))).toBe(told([versionOf('old', 2)]))
    await store.close()
  })
})

describe('A backup', () => {
  it('is refused for a store that lost half of any page', async () => {
    const made: number[] = []
    let tried = 0
    for (let page = 1; page < pages(); page += STEP) {
      const half = readFileSync(sound).fill(0, (page + 0.5) * PAGE, (page + 1) * PAGE)
      const file = damagedAt(page, half.subarray(page * PAGE, (page + 1) * PAGE))
      if (readFileSync(file).equals(readFileSync(sound))) continue
      tried++
      const isMade = await backupStoreFile(file, `${file}.backup`).then(
        () => true,
        (error: unknown) => !(error instanceof StoreFileError && error.message === `${file} is damaged: no backup was made`),
      )
      if (isMade || existsSync(`${file}.backup`)) made.push(page)
    }
    expect(made).toEqual([])
    expect(tried).toBeGreaterThan(5)
  })
})

/** Results of each kind of read and of a commit: `sound` if correct, `damaged` if reported as such, else the wrong answer. */
async function answersOf(store: SqliteResourceStore, file: string): Promise<readonly string[]> {
  const found: Promise<string>[] = keys.flatMap((key) => [
    answerOf(async () => told(await store.current([key])) === told([versionOf(key.id, 2)])),
    answerOf(async () => told(await store.versions([{ ...key, versionId: 1 }])) === told([versionOf(key.id, 1)])),
    answerOf(async () => {
      const [head] = await store.heads([key])
      if (head === undefined || !('damage' in head)) return told([head]) === told([versionOf(key.id, 2)])
      if (head.versionId !== 2) return false
      throw head.damage
    }),
  ])
  const both = keys.flatMap(({ id }) => [versionOf(id, 2), versionOf(id, 1)])
  const all = [...both, versionOf('old', 1)]
  const heads = [...keys.map(({ id }) => versionOf(id, 2)), versionOf('old', 1)]
  const scan = { ...type, asOf: 10, limit: 1_000 }
  found.push(
    answerOf(async () => same((await store.history(type, {}, undefined, 1_000)).versions, all)),
    answerOf(async () =>
      same((await store.history(keys[3]!, {}, undefined, 10)).versions, [versionOf(keys[3]!.id, 2), versionOf(keys[3]!.id, 1)]),
    ),
    answerOf(async () => same(await readAllVersions(store, scan), heads)),
    answerOf(async () => {
      const feed = new SqliteChangeFeed(file)
      try {
        const changes = feed.changes(0, 1_000).map(({ version }) => version)
        // A version with a damaged body comes without it.
        return (
          same(
            changes.filter(({ body }) => body.length > 0),
            all.filter(({ id, versionId }) => changes.some((one) => one.id === id && one.versionId === versionId && one.body.length > 0)),
          ) && changes.length === all.length
        )
      } finally {
        feed.close()
      }
    }),
    answerOf(async () => (await store.commit([writeOf('new', 0)], [])).kind === 'committed'),
  )
  const answers = await Promise.all(found)
  const copy = `${file}.backup`
  const saved = await backupStoreFile(file, copy).then(
    () => 'saved',
    (error: unknown) => error,
  )
  if (saved === 'saved') checkStoreFile(copy)
  else if (!(saved instanceof StoreFileError) || existsSync(copy)) answers.push(`backup: ${saved}`)
  if (saved === 'saved' && answers.includes('damaged')) answers.push('a backup of what is damaged')
  rmSync(copy, { force: true })
  return answers
}

const answerOf = async (isTrue: () => Promise<boolean>): Promise<string> => {
  try {
    return (await isTrue()) ? 'sound' : `wrong: ${isTrue}`
  } catch (error) {
    return isFault(error, 'store-damaged') ? 'damaged' : `${error}: ${isTrue}`
  }
}

/** Ids that a scan reports as damaged. */
async function damagedIn(store: SqliteResourceStore): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { damaged = [] } of store.scan({ ...type, asOf: 10, limit: 100, tellsDamaged: true }))
    ids.push(...damaged.map(({ id }) => id))
  return ids
}

const same = (found: readonly ResourceVersion[], wanted: readonly ResourceVersion[]): boolean => toldAll(found) === toldAll(wanted)
const toldAll = (versions: readonly ResourceVersion[]): string =>
  versions
    .map((version) => told([version]))
    .toSorted()
    .join()
const told = (versions: readonly (ResourceVersion | undefined)[]): string => versions.map((found) => found && partsOf(found)).join('\n')
const partsOf = ({ tenant, type, id, versionId, lastUpdated, deleted, compartments, body }: ResourceVersion): string =>
  [tenant, type, id, versionId, lastUpdated, deleted, compartments, Buffer.from(body)].join(' ')

/** Compressible text for some of the resources, incompressible text for the others and for a large one. */
function textOf(id: string, version: number): string {
  const n = keys.findIndex((key) => key.id === id)
  return n % 5 === 4 ? `${id} ${version} `.repeat(90) : incompressibleTextOf(`${id} ${version}`, n === 5 ? 90_000 : 900)
}

const writesOf = (expected: number): readonly Write[] => keys.map(({ id }) => writeOf(id, expected))

const writeOf = (id: string, expected: number): Write =>
  write(patientKeyOf(id), { expected, lastUpdated: expected + 1, compartments: [`Patient/${id}`], body: textOf(id, expected + 1) })

const versionOf = (id: string, versionId: number): ResourceVersion => version(writeOf(id, versionId - 1))

function damagedAt(page: number, contents: Buffer): string {
  const file = join(folder, 'damaged.db')
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  copyFileSync(sound, file)
  const open = openSync(file, 'r+')
  writeSync(open, contents, 0, PAGE, page * PAGE)
  closeSync(open)
  return file
}
