/** Backups of a data folder: one file with all versions; the index is made again from it. */
import { join } from 'node:path'
import { SqliteResourceStore } from '../adapters/sqlite/resource-store.ts'

export async function backupStore(folder: string, file: string): Promise<void> {
  const store = await SqliteResourceStore.open({ file: join(folder, 'store.db') })
  await store.backup(file)
  await store.close()
}
export async function restoreStore(_folder: string, _file: string): Promise<'running' | 'stopped'> {
  throw new Error('not yet')
}
