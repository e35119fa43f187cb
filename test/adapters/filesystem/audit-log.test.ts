/** Audit records in files: the contract, daily files, and disk failures. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type FileHandle, open as openHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { AuditFile } from '../../../lambdas/adapters/filesystem/audit-file.ts'
import { FilesystemAuditLog } from '../../../lambdas/adapters/filesystem/audit-log.ts'
import { FilesystemAuditReader } from '../../../lambdas/adapters/filesystem/audit-reader.ts'
import { CommandAuditLog } from '../../../lambdas/adapters/filesystem/command-audit-log.ts'
import { type AuditDurability, type AuditRecord, reservedBytesOf } from '../../../lambdas/ports/security/audit-log.ts'
import { auditLogContract } from '../../contracts/audit-log.contract.ts'
import { auditReaderContract } from '../../contracts/audit-reader.contract.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { collect } from '../../fixtures/collect.ts'
import { eventually } from '../../fixtures/eventually.ts'

/** Complete lines: a failed write may leave half a line at the end. */
const linesOf = (path: string): readonly string[] =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1).filter((line) => line !== '') : [] // biome-ignore format: one line

const probe = await openHandle('/dev/null', 'w')
const handles = Object.getPrototypeOf(probe) as FileHandle
const write = handles.write as (...given: readonly unknown[]) => Promise<unknown>
await probe.close()

/** Makes every write fail halfway, as on a full disk. */
const fail = (): void => {
  handles.write = async function (this: FileHandle, bytes: Uint8Array, offset: number, length: number, position: number) {
    await write.call(this, bytes, offset, Math.floor(length / 2), position)
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  } as unknown as FileHandle['write']
}
const mend = (): void => {
  handles.write = write as FileHandle['write']
}
afterEach(mend)

auditLogContract('files', async (durability) => {
  const folder = newFolder()
  const told: unknown[] = []
  const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability, onError: (error) => told.push(error) })
  const file = join(folder, '2026-01-02.jsonl')
  runAtEnd(() => log.close())
  return {
    log,
    told,
    // The contract calls this only while the disk fails, and the log reports that.
    written: async () => void (await eventually(() => told.length > 0)),
    kept: async () => linesOf(file).map((line) => JSON.parse(line) as AuditRecord),
    fail,
    mend,
  }
})

auditReaderContract('files', async () => {
  const folder = newFolder()
  const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'strict', onError: () => undefined })
  return { log, reader: new FilesystemAuditReader(folder, () => expect('no line').toBe('damaged')) }
})

describe('Reading audit records from files', () => {
  const entry = { requestId: 'r', tenant: 'default', interaction: 'read', status: 200, duration: 1 }
  const AT = Date.parse('2026-01-02T03:04:05Z')

  it('includes those of commands', async () => {
    const folder = newFolder()
    const log = new CommandAuditLog(folder)
    await log.prepare(AT)
    await log.record({ ...entry, at: AT })
    await log.close()
    const reader = new FilesystemAuditReader(folder, () => undefined)
    expect(await collect(reader.read({ from: AT, to: AT + 1 }, {}))).toEqual([{ ...entry, at: AT }])
  })

  it('keeps a record with a line separator whole', async () => {
    const folder = newFolder()
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'strict', onError: () => undefined })
    await log.prepare(AT, 'read')
    await log.record({ ...entry, at: AT, user: 'a\u2028b' })
    await log.close()
    const reader = new FilesystemAuditReader(folder, () => undefined)
    expect(await collect(reader.read({ from: AT, to: AT + 1 }, {}))).toEqual([{ ...entry, at: AT, user: 'a\u2028b' }])
  })

  it('skips reserved space and an incomplete last line, and reports damaged lines', async () => {
    const folder = newFolder()
    const lineOf = (requestId: string) => JSON.stringify({ ...entry, requestId, at: new Date(AT).toISOString() })
    const file = join(folder, '2026-01-02.jsonl')
    writeFileSync(file, [lineOf('a'), 'damaged', lineOf('b'), '', '', lineOf('c').slice(0, 20)].join('\n'))
    const damaged: unknown[] = []
    const reader = new FilesystemAuditReader(folder, (...place) => damaged.push(place))
    const found = await collect(reader.read({ from: AT, to: AT + 1 }, {}))
    expect([found.map(({ requestId }) => requestId), damaged]).toEqual([['a', 'b'], [[file, 2]]])
  })
})

describe('Audit records in files', () => {
  const entry = { requestId: 'r', tenant: 'default', interaction: 'read', status: 200, duration: 1 }

  it('are written in order to a file per day; expired files are removed', async () => {
    const folder = newFolder()
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'batched', onError: () => undefined })
    writeFileSync(join(folder, '2024-02-25.jsonl'), '')
    writeFileSync(join(folder, 'other.txt'), '')
    log.record({ ...entry, at: Date.parse('2024-02-27T23:59:59.999Z') })
    for (let i = 0; i < 3; i++) log.record({ ...entry, at: Date.parse('2024-02-28T00:00:00Z'), requestId: `r${i}` })
    // The timer of the log writes them.
    await eventually(() => linesOf(join(folder, '2024-02-28.jsonl')).length === 3)
    log.record({ ...entry, at: Date.parse('2024-02-28T00:00:01Z'), requestId: 'last' })
    await log.close()
    expect(readdirSync(folder).sort()).toEqual(['2024-02-27.jsonl', '2024-02-28.jsonl', 'other.txt'])
    expect(linesOf(join(folder, '2024-02-28.jsonl')).map((line) => JSON.parse(line).requestId)).toEqual(['r0', 'r1', 'r2', 'last'])
    expect(statSync(join(folder, '2024-02-28.jsonl')).mode & 0o777).toBe(0o600)
  })

  it.each<AuditDurability>(['batched', 'strict'])(
    'are complete (%s) if an old file cannot be removed, which is reported',
    async (durability) => {
      const folder = newFolder()
      const told: unknown[] = []
      const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability, onError: (error) => told.push(error) })
      // A folder, so it cannot be removed as a file.
      mkdirSync(join(folder, '2024-02-01.jsonl'))
      const days = ['2024-02-27', '2024-02-28', '2024-02-29']
      await Promise.all(days.map((day) => log.record({ ...entry, at: Date.parse(day) })))
      await log.close()
      expect(days.map((day) => linesOf(join(folder, `${day}.jsonl`)).length)).toEqual([1, 1, 1])
      expect(told.length).toBeGreaterThan(0)
    },
  )

  it('are retained if they arrive while earlier ones cannot be written', async () => {
    const folder = newFolder()
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'strict', onError: () => undefined })
    const at = Date.parse('2024-02-28')
    await log.prepare(at, 'read')
    await log.prepare(at, 'read')
    let later: Promise<void> | undefined
    handles.write = async () => {
      later ??= log.record({ ...entry, at, requestId: 'later' })
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }
    await expect(log.record({ ...entry, at, requestId: 'first' })).rejects.toThrow()
    await later?.catch(() => undefined)
    mend()
    await log.close()
    expect(linesOf(join(folder, '2024-02-28.jsonl')).map((line) => JSON.parse(line).requestId)).toEqual(['first', 'later'])
  })

  it('are held up to 100,000 on a disk failure; losses are counted and reported', async () => {
    const folder = join(newFolder(), 'audit')
    writeFileSync(folder, 'in the way')
    const told: string[] = []
    const onError = (error: unknown): void => void told.push(String(error))
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'batched', onError })
    const at = Date.parse('2024-02-28')
    for (let i = 0; i < 100_003; i++) log.record({ ...entry, at, requestId: `${i}` })
    await expect(log.close()).rejects.toThrow('100000 audit records are lost')
    expect(told.filter((line) => line.includes('are lost'))).toEqual(['Error: 3 audit records are lost: the disk takes none'])
  })

  it('fit into their reserved space in strict mode, however many are in flight', async () => {
    const folder = newFolder()
    const at = Date.parse('2024-02-28')
    const longest = (interaction: string, requestId: string): AuditRecord => {
      const record = { ...entry, at, interaction, requestId, scopes: '' }
      const date = new Date(at).toISOString()
      return { ...record, scopes: 'x'.repeat(reservedBytesOf(interaction) - JSON.stringify({ ...record, at: date }).length) }
    }
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'strict', onError: () => undefined })
    const kinds = ['read', 'bundle', 'token', 'bundle', 'read']
    for (const kind of kinds) await log.prepare(at, kind)
    const { size } = statSync(join(folder, '2024-02-28.jsonl'))
    handles.write = async function (this: FileHandle, bytes: Uint8Array, offset: number, length: number, position: number) {
      if (position + length > size) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      return write.call(this, bytes, offset, length, position)
    } as unknown as FileHandle['write']
    const first = log.record(longest('read', 'r0'))
    // No more space is granted until the records with reserved space are written.
    const refused: unknown[] = []
    for (let i = 0; i < 20; i++) await Promise.resolve(log.prepare(at, 'bundle')).catch((error) => refused.push(error))
    await first
    await Promise.all(kinds.slice(1).map((kind, i) => log.record(longest(kind, `r${i + 1}`))))
    expect(refused.length).toBeGreaterThan(10)
    mend()
    await log.close()
    expect(linesOf(join(folder, '2024-02-28.jsonl')).map((line) => JSON.parse(line).requestId)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4'])
  })

  it('leave the reserved space of others alone in strict mode, and are stored later', async () => {
    const folder = newFolder()
    const at = Date.parse('2024-02-28')
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'strict', onError: () => undefined })
    await log.prepare(at, 'read')
    await log.prepare(at, 'read')
    const { size } = statSync(join(folder, '2024-02-28.jsonl'))
    handles.write = async function (this: FileHandle, bytes: Uint8Array, offset: number, length: number, position: number) {
      if (position + length > size) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
      return write.call(this, bytes, offset, length, position)
    } as unknown as FileHandle['write']
    const records = (id: string, parts: number) =>
      Array.from({ length: parts }, (_, i): AuditRecord => ({ ...entry, at, requestId: id, scopes: 'x'.repeat(4_000), part: i, parts }))
    const [first, ...others] = records('large', 100)
    // The small record uses its reserved space while the large one requests more.
    const large = expect(log.record(first!, ...others)).rejects.toThrow('no room')
    await log.record({ ...entry, at, requestId: 'small' })
    await large
    mend()
    await log.close()
    const kept = linesOf(join(folder, '2024-02-28.jsonl')).map((line) => JSON.parse(line).requestId)
    expect(kept).toEqual(['small', ...Array(100).fill('large')])
  })

  it('continue in a new file if the full one was removed', async () => {
    const folder = newFolder()
    const log = new FilesystemAuditLog({ folder, retentionDays: 2, durability: 'strict', onError: () => undefined })
    const at = Date.parse('2024-02-28')
    await log.prepare(at, 'read')
    await log.record({ ...entry, at })
    await log.prepare(at, 'read')
    fail()
    await expect(log.record({ ...entry, at, requestId: 'held' })).rejects.toThrow()
    mend()
    rmSync(join(folder, '2024-02-28.jsonl'))
    await log.prepare(at, 'read')
    await log.record({ ...entry, at, requestId: 'next' })
    await log.close()
    expect(linesOf(join(folder, '2024-02-28.jsonl')).map((line) => JSON.parse(line).requestId)).toEqual(['held', 'next'])
  })
})

describe('A file of lines', () => {
  const whole = '{"n":1}\n{"n":2}\n'

  it.each([
    ['nothing', ''],
    ['a torn line', '{"n":3,"s'],
    ['reserved space', '\n'.repeat(300_000)],
    ['a torn line in reserved space', `{"n":3,"s${'\n'.repeat(300_000)}`],
    ['zeros after a power failure', `${'\0'.repeat(5_000)}\n${'\0'.repeat(100)}`],
  ])('continues after its last complete line where a process left %s', async (_, left) => {
    const path = join(newFolder(), 'lines')
    writeFileSync(path, whole + left)
    const file = await AuditFile.open(path)
    await file.append('{"n":4}\n', false)
    // Before close(): the process may be killed.
    expect(readFileSync(path, 'utf8')).toBe(`${whole}{"n":4}\n`)
    await file.close()
    expect(readFileSync(path, 'utf8')).toBe(`${whole}{"n":4}\n`)
  })

  it('starts again if it has no complete line', async () => {
    const path = join(newFolder(), 'lines')
    writeFileSync(path, '{"n":')
    const file = await AuditFile.open(path)
    await file.reserve(10)
    expect([file.hasRoomFor(10), file.end]).toEqual([true, 0])
    await file.append('{"n":1}\n', true)
    await file.close()
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n')
  })

  it('gets no partial line on a full disk', async () => {
    const folder = newFolder()
    symlinkSync('/dev/full', join(folder, 'full'))
    const file = await AuditFile.open(join(folder, 'full'))
    await expect(file.append(whole, false)).rejects.toThrow('ENOSPC')
    expect(file.end).toBe(0)
    await file.close().catch(() => undefined)
  })
})
