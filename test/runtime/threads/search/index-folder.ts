/** A store and its searcher in files, for tests that open, damage and reopen them. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach } from '@jest/globals'
import { SqliteResourceStore } from '../../../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { Definitions } from '../../../../lambdas/indexing/custom-definitions.ts'
import type { Plan, Predicate } from '../../../../lambdas/ports/search/plan.ts'
import type { Write } from '../../../../lambdas/ports/store/resource-store.ts'
import { ThreadedIndex } from '../../../../lambdas/runtime/threads/search/threaded-index.ts'
import { newFolder } from '../../../fixtures/at-end.ts'
import { patient } from '../../../fixtures/resources.ts'
import { patientKeyOf, writeOf } from '../../../fixtures/versions.ts'

export const folder = newFolder()

let homes = 0
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** `ahead`: positions by tenant that searches wait for, regardless of acknowledged writes. */
export async function openSearchHome({ name = `${++homes}`, budget = 10_000, ahead = {} as Readonly<Record<string, number>> } = {}) {
  const [file, index] = [join(folder, `${name}.db`), join(folder, `${name}.index.db`)]
  const reports: string[] = []
  const told: Partial<Definitions>[] = []
  const store = await SqliteResourceStore.open({ file, onCommit: () => searcher.follow() })
  const searcher = new ThreadedIndex({
    thread: new URL('../../../../lambdas/runtime/threads/search/search-thread.ts', import.meta.url),
    store: file,
    index,
    acknowledged: (tenant) => ahead[tenant ?? ''] ?? store.lastPosition(tenant),
    reading: { baseUrl: 'http://127.0.0.1/fhir' },
    budget,
    report: (error) => reports.push(String(error)),
    onDefinitions: (definitions) => told.push(definitions as Partial<Definitions>),
  })
  const close = async (): Promise<void> => {
    await searcher.close()
    await store.close()
  }
  open.push(close)
  return { name, file, index, reports, told, store, searcher, close: () => open.splice(open.indexOf(close), 1)[0]!() }
}

export const patientWriteOf = (id: string, family: string, expected = 0): Write =>
  writeOf(patientKeyOf(id), { expected, body: patient(id, { family }) })

export const exactFamilyPredicate = (...families: readonly string[]): Predicate => ({ kind: 'key', field: 'family:exact', oneOf: families })
export const planOf = (where: Predicate): Plan => ({
  tenant: 't',
  types: ['Patient'],
  where,
  access: 'everything',
  order: [],
  limit: 100,
  total: 'accurate',
})
export const findHits = async (searcher: ThreadedIndex, where: Predicate): Promise<string> =>
  (await searcher.find(planOf(where))).hits.map(({ id, version }) => `${id}/${version}`).join(' ')

/** Marks the index as made by another extractor, and empties its documents, so that its results differ. */
export function replaceIndexMaker(file: string): void {
  const db = new DatabaseSync(file)
  db.exec("UPDATE about SET value = 'another' WHERE name = 'maker'; DELETE FROM posting; UPDATE document SET held = ''")
  db.close()
}
