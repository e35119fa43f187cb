/**
 * Backup of everything that a server needs to run again elsewhere, and its restore into an empty data folder. The backup is a folder. It
 * leaves out the index, which the server builds again, export jobs with their files, and stored searches of paging links.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AuditFile } from '../../adapters/filesystem/audit-file.ts'
import { BackupError, copyEntry, copyListed, type ListedFile, readList, writeList } from '../../adapters/filesystem/backup-folder.ts'
import { openDataFolder } from '../../adapters/filesystem/data-folder.ts'
import { DataFolderError, isServerEntry } from '../../adapters/filesystem/folder-entries.ts'
import { runExclusively } from '../../adapters/filesystem/package-folders.ts'
import { backupSqliteFile } from '../../adapters/sqlite-file/backup.ts'
import { backupStoreFile, checkIsStore } from '../../adapters/sqlite-store/backup.ts'
import { checkNotLost, GRANTS_FILE, SIGNING_KEYS_FOLDER } from './administration.ts'
import { commitRestore, installRestoredStore, newStoreCopyName, runWithStore, type Warn } from './backup-command.ts'
import { AUDIT_FOLDER, DISCLOSURES_FOLDER, lostFileWarnings, RESTORED_STORE_FILE, STORE_FILE, TRANSFERS_FOLDER } from './lost-files.ts'
import { PACKAGES_FOLDER } from './package-folder.ts'

const KEY_FILE = 'key'
/** Folders with files to which the server appends lines. */
const LINE_FOLDERS = [AUDIT_FOLDER, TRANSFERS_FOLDER]

/**
 * Writes a backup of everything into the new folder `to`, even while a server uses the data folder. It contains all that was acknowledged
 * before the call. Throws an Error if the data folder has no data, or lost its store or its grants. Warns of other lost files.
 * A failed backup leaves no folder.
 */
export async function backupFolder(folder: string, to: string, warn: Warn): Promise<void> {
  // guard: lost-grants-are-not-backed-up
  checkNotLost(folder)
  await runWithStore(folder, warn, async () => {
    for (const line of lostFileWarnings(folder)) warn(line)
    await mkdir(to, { mode: 0o700 })
    try {
      await copyParts(folder, to)
      await writeList(to)
    } catch (error) {
      await rm(to, { recursive: true, force: true })
      throw error
    }
  })
}

/**
 * The order decides what a change during the backup leaves. The audit records come after the store, so each write of the backup has its
 * record. The signing keys come after the grants, so a key that was removed because tokens were revoked is not in the backup.
 */
async function copyParts(folder: string, to: string): Promise<void> {
  await backupStoreFile(join(folder, STORE_FILE), join(to, STORE_FILE))
  if (existsSync(join(folder, GRANTS_FILE))) await backupSqliteFile(join(folder, GRANTS_FILE), join(to, GRANTS_FILE))
  for (const name of [KEY_FILE, 'base-urls', SIGNING_KEYS_FOLDER, DISCLOSURES_FOLDER, ...LINE_FOLDERS])
    await copyEntry(join(folder, name), join(to, name))
  for (const name of LINE_FOLDERS) await cutLines(join(to, name))
  const packages = join(folder, PACKAGES_FOLDER)
  if (existsSync(packages)) await runExclusively(packages, () => copyEntry(packages, join(to, PACKAGES_FOLDER)))
}

/** Cuts off lines that the server had not finished when they were copied, and its reserved space. */
async function cutLines(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  for (const name of await readdir(folder)) if (name.endsWith('.jsonl')) await (await AuditFile.open(join(folder, name))).close()
}

/**
 * Restores a backup of everything into a folder without data. Throws a BackupError if the backup is incomplete or damaged, and a
 * DataFolderError if the folder has data. A failed restore leaves no data in the folder.
 */
export async function restoreFolder(folder: string, backup: string, warn: Warn): Promise<void> {
  const files = await readList(backup)
  const store = files.find(({ path }) => path === STORE_FILE)
  if (store === undefined || !existsSync(join(backup, STORE_FILE))) throw new BackupError(`${backup} has no ${STORE_FILE}`)
  checkIsStore(join(backup, STORE_FILE))
  const { unlock, warnings } = await openDataFolder(folder)
  try {
    await checkHasNoData(folder, backup)
    for (const line of warnings) warn(line)
    await copyAll(files, store, backup, folder)
  } finally {
    unlock()
  }
}

async function checkHasNoData(folder: string, backup: string): Promise<void> {
  const found = (await readdir(folder)).find((name) => isServerEntry(name) && name !== 'lock.db')
  // guard: full-restore-replaces-no-data
  if (found !== undefined)
    throw new DataFolderError(
      `${folder} has data (${found}), and a backup of everything needs an empty folder: name one by --data, or empty this one if an interrupted restore left it. To replace only the resources, restore ${join(backup, STORE_FILE)}`,
    )
}

/** Copies the key first and the store last. A start refuses a folder with a key and no store, which an interrupted restore leaves. */
async function copyAll(files: readonly ListedFile[], store: ListedFile, backup: string, folder: string): Promise<void> {
  const copy = newStoreCopyName()
  const [keys, others] = [files.filter(({ path }) => path === KEY_FILE), files.filter((file) => file.path !== KEY_FILE && file !== store)]
  try {
    for (const file of [...keys, ...others]) await copyListed(backup, file, folder)
    await copyListed(backup, store, folder, copy)
    await commitRestore(folder, copy)
    await installRestoredStore(folder)
  } catch (error) {
    for (const name of [...files.map(({ path }) => path.split('/')[0]!), copy, RESTORED_STORE_FILE])
      await rm(join(folder, name), { recursive: true, force: true })
    throw error
  }
}
