/** A thread that comes after the others wherever there are too few processors. */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Of the thread that calls. Linux gives each thread a priority of its own, under its number; elsewhere, and where it may not be, nothing is
 * changed. https://man7.org/linux/man-pages/man2/setpriority.2.html, "C library/kernel differences"
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It leaves room by pausing, too.
  }
}
