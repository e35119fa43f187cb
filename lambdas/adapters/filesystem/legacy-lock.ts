/** The lock of versions before the kernel held it: a file with the number of a process. Such a version neither sees the new lock, nor is seen. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes it where no such process runs. A line where one does: it may be that server, or a bystander that got the number, so that it is a
 * reason to tell and none to refuse.
 */
export async function checkLegacyLock(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'lock')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  // What was not written by such a server is somebody's.
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
