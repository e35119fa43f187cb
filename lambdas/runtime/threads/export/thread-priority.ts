/** Lowers the priority of a thread, so that other threads run first when processors are scarce. */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Lowers the priority of the calling thread on Linux, where each thread has its own priority. Changes nothing on other systems, or without
 * permission. https://man7.org/linux/man-pages/man2/setpriority.2.html, "C library/kernel differences"
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Ignore a missing permission: the thread still pauses for requests.
  }
}
