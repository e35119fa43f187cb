/** Processor time and disk space that exports leave to others. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../../../lambdas/adapters/filesystem/blob-store.ts'
import { ExportFault } from '../../../../lambdas/export/job/export-fault.ts'
import { CPU_SHARE_DIVISOR, CpuShare, countRequest } from '../../../../lambdas/runtime/threads/export/cpu-share.ts'
import { type DiskSpace, readDiskSpace, withDiskReserve } from '../../../../lambdas/runtime/threads/export/disk-reserve.ts'
import { exportPartsOf, kickOff, readJob, runExportJob } from '../../../export/export-run.ts'
import { newFolder } from '../../../fixtures/at-end.ts'
import { ExportWorld, jobOf } from '../../../fixtures/exporting.ts'
import { MemoryRows } from '../../../fixtures/memory/kept-rows.ts'

describe('An export', () => {
  it('works part of the time on a small machine while there are requests, else always', () => {
    const room = new CpuShare(2)
    expect(room.pauseAfter(10, 0)).toBe(0)
    expect(room.pauseAfter(10, 3)).toBe(10 * (CPU_SHARE_DIVISOR - 1))
    expect(room.pauseAfter(10, 4)).toBe(10 * (CPU_SHARE_DIVISOR - 1))
    expect(room.pauseAfter(10, 4)).toBe(0)
    expect(room.pauseAfter(10_000, 5)).toBe(1_000)
  })

  it('does not pause for requests of its status', () => {
    const requests = new Int32Array(1)
    const pauseAfter = (path: string) => {
      countRequest(requests, path)
      return room.pauseAfter(10, requests[0]!)
    }
    const room = new CpuShare(2)
    const paths = ['/export/job', '/Patient', '/export/job', '/export', '/export/job/file.ndjson']
    expect(paths.map((path) => pauseAfter(path) > 0)).toEqual([false, true, false, true, true])
  })

  it('never pauses if there are enough processors', () => {
    const room = new CpuShare(8)
    expect([1, 2, 3].map((requests) => room.pauseAfter(10, requests))).toEqual([0, 0, 0])
  })
})

describe('A thread of lower priority', () => {
  const isLinux = process.platform === 'linux'
  if (!isLinux) process.stderr.write('Priorities of threads are not tested here: they are of Linux\n')

  const itOnLinux = isLinux ? it : it.skip
  itOnLinux('is the only one of its process', async () => {
    const before = nices()
    const program = `data:text/javascript,${encodeURIComponent(`
      const { lowerPriority } = await import('${new URL('../../../../lambdas/runtime/threads/export/thread-priority.ts', import.meta.url)}')
      const { parentPort } = await import('node:worker_threads')
      lowerPriority()
      parentPort.postMessage('')
      parentPort.on('message', () => undefined)`)}`
    const worker = new Worker(new URL(program))
    await new Promise((resolve) => worker.once('message', resolve))
    expect(nices().filter((nice) => nice === 10).length).toBe(before.filter((nice) => nice === 10).length + 1)
    await worker.terminate()
  })
})

/** Returns the nice value of each thread of this process. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const nices = (): readonly number[] =>
  readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

describe('The disk reserve', () => {
  const GB = 1_000_000_000
  const blobsWith = (room: DiskSpace) => withDiskReserve(new FilesystemBlobStore(newFolder()), async () => room)
  const blob = { bytes: Buffer.alloc(1_000), contentType: 'text/plain' }

  it('is a gigabyte, or a tenth of a small disk', async () => {
    await blobsWith({ whole: 100 * GB, free: GB + 1_000 }).put('a', blob)
    await expect(blobsWith({ whole: 100 * GB, free: GB + 999 }).put('a', blob)).rejects.toThrow(ExportFault)
    await blobsWith({ whole: GB, free: GB / 10 + 1_000 }).put('a', blob)
    await expect(blobsWith({ whole: GB, free: GB / 10 + 999 }).put('a', blob)).rejects.toThrow('too little room')
  })

  it('is checked before each part is written', async () => {
    const room = { whole: 100 * GB, free: 10 * GB }
    const parts = await withDiskReserve(new FilesystemBlobStore(newFolder()), async () => room).openParts('a', 'text/plain')
    await parts.writePart(1, blob.bytes)
    room.free = GB
    await expect(parts.writePart(2, blob.bytes)).rejects.toThrow(ExportFault)
  })

  it('fails an export that would use it, with the reason and without files', async () => {
    const world = await ExportWorld.open()
    await world.save(1, { resourceType: 'Patient', id: '1' })
    const [rows, resources, { index, blobs: files }] = [new MemoryRows(), world.store, world]
    const parts = exportPartsOf({ rows, resources, index, blobs: withDiskReserve(files, async () => ({ whole: 100 * GB, free: GB })) })
    const job = jobOf(2, { level: 'system' })
    await kickOff(parts, job)
    await runExportJob(parts, job)
    expect(await readJob(parts, job.id)).toMatchObject({ state: 'error', reason: expect.stringContaining('too little room') })
    for await (const { key } of files.list('')) expect(key).toBe('nothing')
  })

  it('is measured on the disk of the folder', async () => {
    const { whole, free } = await readDiskSpace(join(newFolder(), 'exports'))
    expect(free).toBeGreaterThan(0)
    expect(whole).toBeGreaterThanOrEqual(free)
  })
})
