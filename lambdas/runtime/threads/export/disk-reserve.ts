/** Disk space that export files leave free, so that writes of clients do not fail. */
import { mkdir, statfs } from 'node:fs/promises'
import { ExportFault } from '../../../export/job/export-fault.ts'
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'

/** Space of a disk in bytes. */
export type DiskSpace = { readonly whole: number; readonly free: number }

/** Maximum bytes that stay free on the disk. */
const RESERVE = 1_000_000_000
/** Part of the disk that stays free, if that is less than RESERVE. */
const PART = 1 / 10

/** Returns the size and the free space of the disk that holds the folder. Creates the folder if it is missing. */
export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { blocks, bavail, bsize } = await statfs(folder)
  return { whole: blocks * bsize, free: bavail * bsize }
}

/**
 * Returns a BlobStore that throws an ExportFault if a write would use the reserve. It does not wait: only the end of the export frees
 * space.
 */
export function withDiskReserve(blobs: BlobStore, room: () => Promise<DiskSpace>): BlobStore {
  const check = async (bytes: number): Promise<void> => {
    const { whole, free } = await room()
    if (free - bytes < Math.min(RESERVE, whole * PART))
      throw new ExportFault('The disk of the server has too little room for the files of the export')
  }
  return {
    async put(key, blob) {
      await check(blob.bytes.length)
      await blobs.put(key, blob)
    },
    get: (key, range) => blobs.get(key, range),
    remove: (key) => blobs.remove(key),
    list: (prefix, after) => blobs.list(prefix, after),
    unfinished: (prefix) => blobs.unfinished(prefix),
    abortParts: (prefix) => blobs.abortParts(prefix),
    async openParts(key, contentType, id) {
      const parts = await blobs.openParts(key, contentType, id)
      return {
        id: parts.id,
        async writePart(n, bytes) {
          await check(bytes.length)
          return parts.writePart(n, bytes)
        },
        complete: (all) => parts.complete(all),
        abort: () => parts.abort(),
      }
    },
  }
}
