/** What exports leave to others: processors and the disk. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import { ExportFault } from '../../../lambdas/export/fault.ts'
import { leavingRoom, type Room, roomAt } from '../../../lambdas/runtime/exporter/disk-room.ts'
import { GivingRoom, PARTS } from '../../../lambdas/runtime/exporter/giving-room.ts'
import { newFolder } from '../../fixtures/at-end.ts'

describe('An export', () => {
  it('works one part of the time on a small machine while there are requests, and all of it when there are none', () => {
    const room = new GivingRoom(2)
    expect(room.pauseAfter(10, 0)).toBe(0)
    expect(room.pauseAfter(10, 3)).toBe(10 * (PARTS - 1))
    expect(room.pauseAfter(10, 4)).toBe(10 * (PARTS - 1))
    expect(room.pauseAfter(10, 4)).toBe(0)
    expect(room.pauseAfter(10_000, 5)).toBe(1_000)
  })

  it('works on where there are processors enough', () => {
    const room = new GivingRoom(8)
    expect([1, 2, 3].map((requests) => room.pauseAfter(10, requests))).toEqual([0, 0, 0])
  })
})

describe('On the disk', () => {
  const GB = 1_000_000_000
  const blobsWith = (room: Room) => leavingRoom(new FilesystemBlobStore(newFolder()), async () => room)
  const blob = { bytes: Buffer.alloc(1_000), contentType: 'text/plain' }

  it('a gigabyte stays free, or a tenth of a small one', async () => {
    await blobsWith({ whole: 100 * GB, free: GB + 1_000 }).put('a', blob)
    await expect(blobsWith({ whole: 100 * GB, free: GB + 999 }).put('a', blob)).rejects.toThrow(ExportFault)
    await blobsWith({ whole: GB, free: GB / 10 + 1_000 }).put('a', blob)
    await expect(blobsWith({ whole: GB, free: GB / 10 + 999 }).put('a', blob)).rejects.toThrow('too little room')
  })

  it('each part is looked at before it is written', async () => {
    const room = { whole: 100 * GB, free: 10 * GB }
    const parts = await leavingRoom(new FilesystemBlobStore(newFolder()), async () => room).openParts('a', 'text/plain')
    await parts.writePart(1, blob.bytes)
    room.free = GB
    await expect(parts.writePart(2, blob.bytes)).rejects.toThrow(ExportFault)
  })

  it('the room is that of the disk the folder is on', async () => {
    const { whole, free } = await roomAt(join(newFolder(), 'exports'))
    expect(free).toBeGreaterThan(0)
    expect(whole).toBeGreaterThanOrEqual(free)
  })
})
