/** Transfers in files: the contract, and failures of the disk. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemTransferLog, FilesystemTransferReader } from '../../../lambdas/adapters/filesystem/transfers.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import { transfersContract } from '../../contracts/transfers.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { collect } from '../../fixtures/collect.ts'
import { fault } from '../../fixtures/machine-fault.ts'

const noDamage = (): void => expect('no line').toBe('damaged')
const optionsIn = (folder: string) => ({
  ...{ folder: join(folder, 'audit'), transfers: join(folder, 'usage'), retentionDays: 2 },
  ...({ durability: 'strict', onError: () => undefined } as const),
})

transfersContract('files', async (durability) => {
  const folder = newFolder()
  return {
    open: () => new FilesystemTransferLog({ ...optionsIn(folder), durability }),
    reader: new FilesystemTransferReader(join(folder, 'usage'), noDamage),
  }
})

describe('Transfers in files', () => {
  const AT = Date.UTC(2026, 5, 15)
  const record: AuditRecord = {
    ...{ at: AT, requestId: 'r', tenant: 'default', client: 'app', patient: '1', transfer: true, interaction: 'read', status: 200 },
    ...{ duration: 1, patients: ['Patient/1'], user: 'ann' },
  }
  async function write(log: FilesystemTransferLog, ...records: readonly AuditRecord[]): Promise<void> {
    for (const each of records) {
      await log.prepare(each.at, each.interaction)
      await log.record(each)
    }
  }

  it('remain when audit records of their day expire, and go after three years', async () => {
    const folder = newFolder()
    const log = new FilesystemTransferLog(optionsIn(folder))
    const day = 24 * 60 * 60 * 1_000
    await write(log, ...[0, 3, 1_099].map((days) => ({ ...record, at: AT + days * day })))
    await log.close()
    const days = (name: string) => readdirSync(join(folder, name)).toSorted()
    expect([days('audit'), days('usage')]).toEqual([['2029-06-18.jsonl'], ['2026-06-18.jsonl', '2029-06-18.jsonl']])
  })

  it('fail the request if they cannot be stored, and are stored with the next one', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'usage'), '')
    const log = new FilesystemTransferLog(optionsIn(folder))
    await log.prepare(AT, 'read')
    await expect(log.record(record)).rejects.toThrow(fault('not-recorded'))
    rmSync(join(folder, 'usage'))
    await write(log, record)
    await log.close()
    expect(await collect(new FilesystemTransferReader(join(folder, 'usage'), noDamage).read(2026))).toHaveLength(1)
  })

  it('do not exist for a folder without any, and damaged lines are reported', async () => {
    const folder = newFolder()
    const damaged: unknown[] = []
    const reader = new FilesystemTransferReader(join(folder, 'usage'), (file, line) => damaged.push([file, line]))
    expect([await collect(reader.read(2026)), existsSync(join(folder, 'usage'))]).toEqual([[], false])
    mkdirSync(join(folder, 'usage'))
    const line = JSON.stringify({ ...record, at: new Date(AT).toISOString() })
    writeFileSync(join(folder, 'usage', '2026-06-15.jsonl'), `damaged\n${line}\n`)
    expect(await collect(reader.read(2026))).toHaveLength(1)
    expect(damaged).toEqual([[join(folder, 'usage', '2026-06-15.jsonl'), 1]])
  })
})
