/**
 * Lock of earlier server versions: a file with a process id. Earlier versions ignore the lock of folder-lock.ts, so both must be checked.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes the file if no process has the id in it. Otherwise returns a warning. The process may be an old server or any other with a reused
 * id, so startup continues.
 */
export async function checkLegacyLock(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'lock')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  // An earlier version writes only a number. A file with other content is not its lock and remains.
  if (text === undefined || !/^\d*\s*$/.test(text)) return []
  const number = Number(text)
  if (isOther(number))
    return [
      `${file} names process ${number}, which runs: if it is an older version of this server, stop it, for two servers spoil a folder; if not, remove the file`,
    ]
  await rm(file, { force: true })
  return []
}

function isOther(number: number): boolean {
  // guard: lock-of-own-process-is-outdated
  if (number === 0 || number === process.pid) return false
  try {
    return process.kill(number, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
