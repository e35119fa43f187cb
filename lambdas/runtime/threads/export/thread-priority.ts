/** Lowers the priority of a thread, so that others run first when processors are scarce. */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Lowers the priority of the calling thread. Linux has a priority per thread, under the number of the thread. Changes nothing on other
 * systems, or without permission. https://man7.org/linux/man-pages/man2/setpriority.2.html, "C library/kernel differences"
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Without permission the thread still pauses for requests.
  }
}
