/** A server on a full or failing disk loses no acknowledged write, and continues when the disk works again. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { FAULTY_DISK, itOnFaultyDisk } from '../fixtures/faults/disk.ts'
import { type RunningServer, runFhir, startOpenServer, startOpenServerUnder } from './process.ts'

const headers = { 'content-type': 'application/fhir+json' }

/** Updates a Basic and returns the status and body of the response. */
async function put({ base }: RunningServer, id: string, text = 'x'): Promise<{ readonly status: number; readonly body: Tree }> {
  const body = JSON.stringify({ resourceType: 'Basic', id, code: { text } })
  const response = await fetch(`${base}/Basic/${id}`, { method: 'PUT', headers: { ...headers, 'x-request-id': id }, body })
  return { status: response.status, body: await response.json() }
}

const recordsIn = (data: string): readonly Tree[] =>
  readdirSync(join(data, 'audit')).flatMap((name) =>
    readFileSync(join(data, 'audit', name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line)),
  )

/** Expects each acknowledged write to be stored with one audit record, and no record twice. */
async function expectKept(server: RunningServer, data: string, acknowledged: readonly string[]): Promise<void> {
  for (const id of acknowledged) expect([id, (await fetch(`${server.base}/Basic/${id}`)).status]).toEqual([id, 200])
  await server.stop()
  const written = recordsIn(data).filter(({ interaction }) => interaction === 'update')
  const ids = written.map(({ requestId }) => requestId)
  expect(ids).toHaveLength(new Set(ids).size)
  expect(acknowledged.filter((id) => !ids.includes(id))).toEqual([])
}

const canMount = mounted(newFolder())
if (!canMount) process.stderr.write('Only root can make a small disk: that servers survive a full one is not tested\n')
const itOnSmallDisk = canMount ? it : it.skip

describe.each(['strict', 'batched'])('With %s audit records', (durability) => {
  const settings = ['env', `FHIR_AUDIT_DURABILITY=${durability}`]

  itOnFaultyDisk.each([['fsync'], ['fsync write']])(
    `a server on a disk that fails to %s loses no acknowledged write, and recovers`,
    async (calls) => {
      const data = newFolder()
      const faults = join(newFolder(), 'faults')
      const disk = Object.entries({ ...FAULTY_DISK, DISK_UNDER: data, DISK_EIO: faults }).map(([name, value]) => `${name}=${value}`)
      const server = await startOpenServerUnder([...settings, ...disk], '--data', data)
      const acknowledged: string[] = []
      const attempt = async (from: number): Promise<readonly number[]> => {
        const statuses: number[] = []
        for (let i = from; i < from + 5; i++) {
          const { status } = await put(server, `b${i}`)
          statuses.push(status)
          if (status < 300) acknowledged.push(`b${i}`)
        }
        return statuses
      }
      expect(await attempt(0)).toEqual([201, 201, 201, 201, 201])
      writeFileSync(faults, calls)
      for (const status of await attempt(10)) expect([500, 503]).toContain(status)
      const read = await fetch(`${server.base}/Basic/b1`)
      expect(read.status).toBe(durability === 'strict' ? 503 : 200)
      rmSync(faults)
      let from = 10
      const again = () => {
        from += 10
        return attempt(from)
      }
      await eventually(again, { until: (statuses) => statuses.at(-1) === 201, every: 100 })
      expect(server.child.exitCode).toBeNull()
      await expectKept(server, data, acknowledged)
    },
  )

  itOnSmallDisk('a server on a full disk loses no acknowledged write, and recovers', async () => {
    const disk = smallDisk()
    const data = join(disk, 'data')
    const server = await startOpenServerUnder(settings, '--data', data)
    const acknowledged: string[] = []
    const attempt = async (name: string): Promise<void> => {
      for (let i = 0; i < 20; i++) if ((await put(server, `${name}${i}`, 'x'.repeat(5_000))).status < 300) acknowledged.push(`${name}${i}`)
    }
    await attempt('before')
    expect(acknowledged).toHaveLength(20)
    fill(disk)
    await attempt('full')
    expect(acknowledged.length).toBeLessThan(40)
    rmSync(join(disk, 'filler'))
    let looks = 0
    await eventually(() => put(server, `again${looks++}`), { until: ({ status }) => status < 300, every: 100 })
    await attempt('after')
    expect(acknowledged.filter((id) => id.startsWith('after')).length).toBeGreaterThan(15)
    await expectKept(server, data, acknowledged)
  })
})

itOnSmallDisk('A full disk refuses a first start and a backup in one line', async () => {
  const disk = smallDisk()
  const data = join(disk, 'data')
  fill(disk)
  const { code, err } = await runFhir('start', '--data', data, '--port', '1')
  expect([code, err]).toEqual([1, expect.stringMatching(`^fhir: .*${data}.*\n$`)])
  rmSync(join(disk, 'filler'))
  const server = await startOpenServer('--data', data)
  expect((await put(server, 'a')).status).toBe(201)
  await server.stop()
  fill(disk)
  const saved = join(disk, 'saved.db')
  expect(await runFhir('backup', saved, '--data', data)).toMatchObject({
    code: 1,
    err: `fhir: ${saved} cannot be written: database or disk is full\n`,
  })
})

function smallDisk(): string {
  const folder = newFolder()
  if (!mounted(folder)) throw new Error('not mounted')
  return folder
}

/** Mounts a small disk. Returns false if the process may not mount. */
function mounted(folder: string): boolean {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'none', folder])
  if (status === 0) runAtEnd(() => spawnSync('umount', ['-l', folder]))
  return status === 0
}

/** Fills the disk to the last byte. */
function fill(disk: string): void {
  for (const size of [100_000, 1_000, 1])
    try {
      for (;;) writeFileSync(join(disk, 'filler'), Buffer.alloc(size), { flag: 'a' })
    } catch {
      // The disk has no space for a piece of this size.
    }
}
