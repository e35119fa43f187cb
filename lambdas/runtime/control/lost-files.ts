/**
 * Detects files of a data folder that are missing or empty, although other files show that they existed. Creating them again would hide the
 * loss.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { giveToOwner } from '../../adapters/filesystem/durable-file.ts'
import { DataFolderError } from '../../adapters/filesystem/folder-entries.ts'
import { isBusy } from '../../adapters/sqlite-file/sqlite-errors.ts'
import { openForWriting } from '../../adapters/sqlite-store/schema.ts'

export const STORE_FILE = 'store.db'
/** Complete restored store. A rename makes it the store of the folder, at the latest when the next server starts. */
export const RESTORED_STORE_FILE = 'restored.db'
/** Folder with the audit records. */
export const AUDIT_FOLDER = 'audit'
/** Folder with the transfers, which `fhir usage` counts. */
export const TRANSFERS_FOLDER = 'usage'
/** Folder with the records of disclosures. */
export const DISCLOSURES_FOLDER = 'disclosures'

/** Maximum attempts to create a store that another command creates, and milliseconds between two of them. */
const [ATTEMPTS, PAUSE] = [500, 10]

/** Files that exist only beside a store. If the store is missing, one of them shows that it was lost. */
const BESIDE_STORE = [
  'index.db',
  'store.db-wal',
  'exports.db',
  'key',
  'grants.db',
  'signing-keys',
  AUDIT_FOLDER,
  TRANSFERS_FOLDER,
  DISCLOSURES_FOLDER,
]

/** Throws a DataFolderError if the store of the folder was lost. */
export function checkStore(folder: string): void {
  if (hasStore(folder)) return
  const trace = traceOfStore(folder)
  // guard: lost-store-is-not-replaced
  if (trace !== undefined)
    throw new DataFolderError(
      `${join(folder, STORE_FILE)} is ${existsSync(join(folder, STORE_FILE)) ? 'empty' : 'missing'}, but ${trace} shows that the folder had a store: put it back, restore a backup (npm run fhir -- restore FILE; after an interrupted restore of a folder, empty this one and repeat it), or confirm an empty store (npm start -- --new-store). Nothing was changed`,
    )
}

/**
 * Creates the store of a new folder before the files of BESIDE_STORE. So a process that ends early leaves no folder that seems to have lost
 * its store. `isConfirmed`: also replaces a lost store by an empty one.
 */
export async function makeStore(folder: string, isConfirmed = false): Promise<void> {
  if (hasStore(folder) || (!isConfirmed && traceOfStore(folder) !== undefined)) return
  const file = join(folder, STORE_FILE)
  try {
    await create(folder)
    await giveToOwner(folder, ({ uid, gid }) => chown(file, uid, gid))
  } catch (error) {
    throw new DataFolderError(`${file} cannot be made (${(error as Error).message})`, { cause: error })
  }
}

/** Creates the store, and waits if another command creates it at the same time. */
async function create(folder: string): Promise<void> {
  for (let left = ATTEMPTS; ; left--)
    try {
      return openForWriting(join(folder, STORE_FILE)).close()
    } catch (error) {
      const isShared = isBusy(error) || hasStore(folder)
      if (!isShared || left === 0) throw error
      await wait(PAUSE)
    }
}

const traceOfStore = (folder: string): string | undefined => BESIDE_STORE.find((name) => !isEmpty(join(folder, name)))

/** Returns a warning for each lost file without which the server can run. */
export function lostFileWarnings(folder: string): readonly string[] {
  const isLost = (name: string, beside: string): boolean => isEmpty(join(folder, name)) && !isEmpty(join(folder, beside))
  return [
    ...(isLost('key', 'index.db') ? [`${join(folder, 'key')} was lost: links to further pages and to files of exports are invalid`] : []),
    ...(isLost('exports.db', 'exports/objects')
      ? [`${join(folder, 'exports.db')} was lost: the server no longer knows the exports whose files are in ${join(folder, 'exports')}`]
      : []),
  ]
}

/** Throws an Error for a folder without a store. */
export function checkHasData(folder: string): void {
  if (!existsSync(join(folder, STORE_FILE))) throw new Error(`There is no data in ${folder}: name the data folder of a server by --data`)
}

/** Whether the folder has a store, or a restored store that will become it at the next start. */
export const hasStore = (folder: string): boolean => [STORE_FILE, RESTORED_STORE_FILE].some((name) => !isEmpty(join(folder, name)))

/** Whether a file is missing or has no bytes, or a folder is missing or has no entries. */
export function isEmpty(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return true
  return found.isDirectory() ? readdirSync(path).length === 0 : found.size === 0
}
