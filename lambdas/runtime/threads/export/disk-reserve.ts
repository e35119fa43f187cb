/** Export files leave room on the disk for what must not fail: what clients write. */
import { mkdir, statfs } from 'node:fs/promises'
import { ExportFault } from '../../../export/job/export-fault.ts'
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'

/** Bytes: of the whole disk, and those nobody has. */
export type DiskSpace = { readonly whole: number; readonly free: number }

/** What is left free: a tenth of the disk, and of a large one no more than this. */
const RESERVE = 1_000_000_000
const PART = 1 / 10

/** `folder`: made when missing. */
export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { blocks, bavail, bsize } = await statfs(folder)
  return { whole: blocks * bsize, free: bavail * bsize }
}

/** What would leave too little is an ExportFault: waiting makes no room, but the end of the export does. */
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
    list: (prefix) => blobs.list(prefix),
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
