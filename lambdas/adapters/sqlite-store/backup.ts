/** Copies of a store's file, and whether a file is one. https://www.sqlite.org/backup.html */
import { renameSync, rmSync } from 'node:fs'
import { backup } from 'node:sqlite'
import { openForReading } from './schema.ts'

/** More pages than any file has: one step, on one state of the store, however much is written meanwhile. */
const ALL_PAGES = 0x7fff_ffff

/** A consistent copy of a store, which this or another process may be writing. `to` appears when it is complete. */
export async function backupStoreFile(file: string, to: string): Promise<void> {
  const db = openForReading(file)
  const partial = `${to}.partial`
  try {
    await backup(db, partial, { rate: ALL_PAGES })
    renameSync(partial, to)
  } finally {
    db.close()
    rmSync(partial, { force: true })
  }
}

/** StoreFileError where the file is no store, is one of a newer version, or is damaged. */
export function checkStoreFile(file: string): void {
  openForReading(file, { thoroughly: true }).close()
}
