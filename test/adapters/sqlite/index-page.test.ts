/** The page of the embedded index shows rows that the index writes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { documentOf } from '../../../lambdas/indexing/feed/indexing.ts'

const PAGE = readFileSync('lambdas/docs/embedded-index.md', 'utf8')
const [, observation] = PAGE.match(/```json\n([^`]+)```/)!
const SHOWN = [...PAGE.matchAll(/^\| `(\w+)` \| `(\[.+\])` \|/gm)].map(([, table, row]) => ({ table: table!, row: row! }))

it('The page shows rows that its Observation produces', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'page-'))
  const file = join(folder, 'index.db')
  const index = new SqliteSearchIndex(file)
  const version = { tenant: 'default', type: 'Observation', id: 'height', versionId: 1, lastUpdated: Date.UTC(2024, 0, 1), deleted: false }
  const compartments = ['Patient/erika']
  const failed: unknown[] = []
  await index.apply([documentOf({ ...version, compartments, body: Buffer.from(observation!) }, {}, (_, error) => failed.push(error))])
  index.close()
  const db = new DatabaseSync(file)
  const rowsOf = (table: string): readonly string[] => db.prepare(`SELECT * FROM ${table}`).all().map(rowText)
  const tables = Map.groupBy(SHOWN, ({ table }) => table)
  expect([...tables.keys()].sort()).toEqual(['combination', 'combined', 'field', 'kind', 'place', 'posting', 'span', 'tuples'])
  for (const [table, shown] of tables) expect(rowsOf(table)).toEqual(expect.arrayContaining(shown.map(({ row }) => row)))
  expect(failed).toEqual([])
  db.close()
  rmSync(folder, { recursive: true })
})

const rowText = (row: Record<string, unknown>): string =>
  JSON.stringify(Object.values(row).map((value) => (value instanceof Uint8Array ? value.length : value)))
