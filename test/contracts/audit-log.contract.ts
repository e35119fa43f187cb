/** What lambdas/ports/security/audit-log.ts promises, as tests: every adapter runs this suite. */
import { describe, expect, it } from '@jest/globals'
import type { AuditDurability, AuditLog, AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import { fault } from '../fixtures/machine-fault.ts'
import { waitOneTurn } from '../fixtures/turns.ts'

export type AuditLogUnderTest = {
  readonly log: AuditLog
  /** What `onError` was told. */
  readonly told: readonly unknown[]
  /** What is batched was tried to write. */
  readonly written: () => Promise<void>
  /** What is kept for good, in any order. */
  readonly kept: () => Promise<readonly AuditRecord[]>
  /** Nothing can be written any more, until it is mended. */
  readonly fail: () => void
  readonly mend: () => void
}

const AT = Date.UTC(2026, 0, 2, 3, 4, 5)
const entry = (requestId: string): AuditRecord => ({
  ...{ at: AT, requestId, tenant: 'a', interaction: 'read', key: 'Patient/1' },
  ...{ status: 200, duration: 3 },
})
/** More than any log has places for records of a minute. */
const MANY = 100
const names = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `request-${String(i).padStart(3, '0')}`)

export function auditLogContract(name: string, create: (durability: AuditDurability) => Promise<AuditLogUnderTest>): void {
  const idsIn = async ({ kept }: AuditLogUnderTest): Promise<readonly string[]> =>
    (await kept()).map(({ requestId }) => requestId).toSorted()

  describe.each<AuditDurability>(['batched', 'strict'])(`${name}: %s records`, (durability) => {
    it('are written whole, each once', async () => {
      const under = await create(durability)
      await Promise.all(
        names(60).map(async (id) => {
          await under.log.prepare(AT, 'read')
          await under.log.record(entry(id))
        }),
      )
      await under.log.close()
      expect(await idsIn(under)).toEqual(names(60))
      expect((await under.kept())[0]).toMatchObject({ tenant: 'a', interaction: 'read', key: 'Patient/1', status: 200, duration: 3 })
    })

    it('are written for each request, even under the same request id', async () => {
      const under = await create(durability)
      await under.log.prepare(AT, 'read')
      under.fail()
      for (let i = 0; i < MANY; i++) await Promise.resolve(under.log.record(entry('alike'))).catch(() => undefined)
      await under.written()
      under.mend()
      await under.log.prepare(AT, 'read')
      await under.log.record(entry('alike'))
      await under.log.close()
      expect(await idsIn(under)).toEqual(Array(MANY + 1).fill('alike'))
    })

    it('are all written, in order, if they belong to one request', async () => {
      const under = await create(durability)
      const parts = Array.from({ length: 30 }, (_, i) => ({ ...entry('a'), part: i + 1, parts: 30 }))
      await under.log.prepare(AT, 'read')
      await under.log.record(parts[0]!, ...parts.slice(1))
      await under.log.close()
      const kept = (await under.kept()).toSorted((a, b) => a.part! - b.part!)
      expect(kept.map(({ requestId, part, parts }) => [requestId, part, parts])).toEqual(parts.map(({ part }) => ['a', part, 30]))
    })

    it('are reported, retained and written later if a write fails', async () => {
      const under = await create(durability)
      await under.log.prepare(AT, 'read')
      under.fail()
      await Promise.resolve(under.log.record(entry('held'))).catch(() => undefined)
      await under.written()
      expect([under.told.length, await idsIn(under)]).toEqual([1, []])
      under.mend()
      await under.log.prepare(AT, 'read')
      await under.log.record(entry('next'))
      await under.log.close()
      expect(await idsIn(under)).toEqual(['held', 'next'])
    })
  })

  it(`${name}: batched records never delay their request, not even if a write fails`, async () => {
    const { log, fail, mend } = await create('batched')
    fail()
    expect([log.prepare(AT, 'read'), log.record(entry('a'))]).toEqual([undefined, undefined])
    mend()
    await log.close()
  })

  describe(`${name}: strict records`, () => {
    it('are stored before they are acknowledged', async () => {
      const under = await create('strict')
      for (const [i, id] of names(5).entries()) {
        await under.log.prepare(AT, 'read')
        await under.log.record(entry(id))
        expect(await idsIn(under)).toEqual(names(i + 1))
      }
    })

    it('are all stored if they arrive while others are written', async () => {
      const under = await create('strict')
      const each = names(20).map(async (id, i) => {
        for (let turns = 0; turns < i; turns++) await waitOneTurn()
        await under.log.prepare(AT, 'read')
        await under.log.record(entry(id))
      })
      await Promise.all(each)
      expect(await idsIn(under)).toEqual(names(20))
    })

    it('are acknowledged together if they belong to one request', async () => {
      const under = await create('strict')
      await under.log.prepare(AT, 'read')
      under.fail()
      const parts = [1, 2].map((part) => ({ ...entry('a'), part, parts: 2 })) as [AuditRecord, AuditRecord]
      await expect(under.log.record(...parts)).rejects.toThrow(fault('not-recorded'))
      under.mend()
      await under.log.prepare(AT, 'read')
      await under.log.record(entry('b'))
      expect(await idsIn(under)).toEqual(['a', 'a', 'b'])
    })

    it('are not acknowledged if a write fails, and then block prepare until it succeeds', async () => {
      const under = await create('strict')
      await under.log.prepare(AT, 'read')
      under.fail()
      await expect(under.log.record(entry('a'))).rejects.toThrow(fault('not-recorded'))
      for (let i = 0; i < 3; i++) await expect(under.log.prepare(AT, 'read')).rejects.toThrow(fault('not-recorded'))
      under.mend()
      await under.log.prepare(AT, 'read')
      await under.log.record(entry('b'))
      expect(await idsIn(under)).toEqual(['a', 'b'])
    })
  })
}
