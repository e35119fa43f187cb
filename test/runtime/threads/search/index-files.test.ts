/** The files of the index after an upgrade: one of them answers, even if the process ends at any point of the exchange. */
import { copyFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import type { SqliteSearchIndex } from '../../../../lambdas/adapters/sqlite-index/search-index.ts'
import { openForWriting } from '../../../../lambdas/adapters/sqlite-store/schema.ts'
import { installRestoredStore } from '../../../../lambdas/runtime/control/backup-command.ts'
import {
  type IndexFileParts,
  nextIndexFile,
  openIndexFiles,
  replaceIndexFile,
} from '../../../../lambdas/runtime/threads/search/index-files.ts'
import { extract } from '../../../../lambdas/search/documents/extract.ts'
import { newFolder } from '../../../fixtures/at-end.ts'
import { patientKeyOf, versionOf, writeOf } from '../../../fixtures/versions.ts'

const partsIn = (folder: string): IndexFileParts => ({
  file: join(folder, 'index.db'),
  budget: 1_000,
  reading: { baseUrl: 'http://127.0.0.1/fhir' },
  isKnown: () => true,
})

/** Writes a document with this id to the log of the file. */
function put(index: SqliteSearchIndex, id: string): void {
  index.applyNow([extract(versionOf(writeOf(patientKeyOf(id))), { resourceType: 'Patient', id })])
  index.commit()
}

const idsIn = (index: SqliteSearchIndex): string =>
  index
    .findNow({ tenant: 't', types: ['Patient'], where: { kind: 'all', of: [] }, access: 'everything', order: [], limit: 10, total: 'none' })
    .hits.map(({ id }) => id)
    .join(' ')

/** A folder with an index of another extractor, which has a document `old`. */
function upgraded(mark = 'maker'): IndexFileParts {
  const parts = partsIn(newFolder())
  const { answering } = openIndexFiles(parts)
  put(answering, 'old')
  answering.close()
  const db = new DatabaseSync(parts.file)
  db.prepare("UPDATE about SET value = 'another' WHERE name = ?").run(mark)
  db.close()
  return parts
}

/** Returns a copy of the files, as a process that is killed now leaves them. */
function killed({ file }: IndexFileParts): IndexFileParts {
  const [from, to] = [join(file, '..'), newFolder()]
  for (const name of readdirSync(from)) if (!name.endsWith('-shm')) copyFileSync(join(from, name), join(to, name))
  return partsIn(to)
}

describe('The index', () => {
  it('answers alone if this extractor made it, and removes a leftover next index', () => {
    const parts = partsIn(newFolder())
    const first = openIndexFiles(parts)
    put(first.answering, 'a')
    first.answering.close()
    writeFileSync(nextIndexFile(parts.file), 'left over')
    const { answering, next } = openIndexFiles(parts)
    expect([idsIn(answering), next, existsSync(nextIndexFile(parts.file))]).toEqual(['a', undefined, false])
    answering.close()
  })

  it('answers if another extractor made it, with a new index beside it', () => {
    const { answering, next } = openIndexFiles(upgraded())
    expect([idsIn(answering), idsIn(next!)]).toEqual(['old', ''])
    answering.close()
    next!.close()
  })

  it('is kept if it is locked', () => {
    const parts = upgraded()
    const other = new DatabaseSync(parts.file)
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    expect(() => openIndexFiles(parts)).toThrow('locked')
    other.close()
    const { answering, next } = openIndexFiles(parts)
    expect(idsIn(answering)).toBe('old')
    answering.close()
    next!.close()
  })

  it('is discarded if its file has another format', () => {
    const { answering, next } = openIndexFiles(upgraded('format'))
    expect([idsIn(answering), next]).toEqual(['', undefined])
    answering.close()
  })

  it('is discarded if it belongs to another store', () => {
    const { answering, next } = openIndexFiles({ ...upgraded(), isKnown: () => false })
    expect([idsIn(answering), next]).toEqual(['', undefined])
    answering.close()
  })
})

it('both indexes are removed when a restored store replaces theirs', async () => {
  const parts = upgraded()
  const { answering, next } = openIndexFiles(parts)
  answering.close()
  next!.close()
  const folder = join(parts.file, '..')
  openForWriting(join(folder, 'restored.db')).close()
  await installRestoredStore(folder)
  expect(readdirSync(folder)).toEqual(['store.db'])
})

describe('The switch to the next index', () => {
  const made = (parts: IndexFileParts): { answering: SqliteSearchIndex; next: SqliteSearchIndex } => {
    const { answering, next } = openIndexFiles(parts)
    put(answering, 'old-written')
    put(next!, 'new')
    return { answering, next: next! }
  }
  const opened = (parts: IndexFileParts): readonly (string | undefined)[] => {
    const { answering, next } = openIndexFiles(parts)
    const found = [idsIn(answering), next && idsIn(next)]
    answering.close()
    next?.close()
    return found
  }

  it('leaves an index that answers and the next one, wherever the process ends', () => {
    const parts = upgraded()
    const files = made(parts)
    const states = [killed(parts)]
    files.next.close()
    states.push(killed(parts))
    files.answering.close()
    states.push(killed(parts))
    expect(states.map(opened)).toEqual([
      ['old old-written', 'new'],
      ['old old-written', 'new'],
      ['old old-written', 'new'],
    ])
    const { answering, next } = openIndexFiles(parts)
    const after = replaceIndexFile(parts, { answering, next: next! })
    expect(idsIn(after)).toBe('new')
    expect(opened(killed(parts))).toEqual(['new', undefined])
    after.close()
    expect(readdirSync(join(parts.file, '..'))).toEqual(['index.db'])
  })

  it('does not happen while a file has a log of its own', () => {
    const parts = upgraded()
    const { answering, next } = made(parts)
    const reader = new DatabaseSync(nextIndexFile(parts.file), { readOnly: true })
    reader.exec('BEGIN; SELECT * FROM about')
    put(next, 'later')
    expect(() => replaceIndexFile(parts, { answering, next })).toThrow('could not be written')
    reader.close()
    expect(opened(parts)).toEqual(['old old-written', 'later new'])
  })

  it('is done at once if the old index is unusable', () => {
    const parts = upgraded()
    const { answering, next } = made(parts)
    answering.close()
    next.close()
    writeFileSync(parts.file, 'x'.repeat(10_000))
    expect(opened(parts)).toEqual(['new', undefined])
  })
})
