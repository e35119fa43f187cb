/**
 * Lock of earlier versions: a file with a process id, without a lock of the operating system. Such a version neither sees the new lock, nor
 * does the new lock see it.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes the file if no such process runs. Otherwise it returns a warning. The process may be that server, or another one with a reused
 * id, so the start continues.
 */
export async function checkLegacyLock(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'lock')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  // Such a server writes only a number. A file with other content is not the server's.
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
