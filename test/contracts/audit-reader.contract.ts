/** Tests of the guarantees of lambdas/ports/security/audit-reader.ts. Every adapter runs this suite. */
import { describe, expect, it } from '@jest/globals'
import type { AuditLog, AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import type { AuditFilter, AuditReader, Period } from '../../lambdas/ports/security/audit-reader.ts'
import { collect } from '../fixtures/collect.ts'

/** `log`: strict log of the records that the reader reads. */
export type AuditReaderUnderTest = { readonly log: AuditLog; readonly reader: AuditReader }

const MINUTE = 60_000
const AT = Date.UTC(2026, 0, 2, 23, 59, 59, 500)
const recordOf = (requestId: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ at: AT, requestId, tenant: 'north', interaction: 'read', status: 200, duration: 3 },
  ...more,
})

export function auditReaderContract(name: string, create: () => Promise<AuditReaderUnderTest>): void {
  describe(`${name}: audit records are read`, () => {
    async function readerOf(
      ...records: readonly AuditRecord[]
    ): Promise<(filter?: AuditFilter, period?: Period) => Promise<readonly AuditRecord[]>> {
      const { log, reader } = await create()
      for (const record of records) {
        await log.prepare(record.at, record.interaction)
        await log.record(record)
      }
      await log.close()
      return (filter = {}, period = { from: AT - MINUTE, to: AT + MINUTE }) => collect(reader.read(period, filter))
    }
    const idsOf = (records: readonly AuditRecord[]): readonly string[] => records.map(({ requestId }) => requestId).toSorted()

    it('whole', async () => {
      const whole = recordOf('a', { client: 'app', patients: ['Patient/1', 'Patient/2'], parameters: ['code'], part: 1, parts: 2 })
      const read = await readerOf(whole)
      expect(await read()).toEqual([whole])
    })

    it('for a period without its end, day by day', async () => {
      const times = [AT - 1, AT, AT + 499, AT + 500, AT + MINUTE, AT + MINUTE + 1]
      const read = await readerOf(...times.toReversed().map((at) => recordOf(String(at - AT), { at })))
      const found = await read({}, { from: AT, to: AT + MINUTE + 1 })
      expect(idsOf(found)).toEqual(['0', '499', '500', '60000'])
      const days = found.map(({ at }) => new Date(at).getUTCDate())
      expect(days).toEqual([2, 2, 3, 3])
      expect(await read({}, { from: AT + 1, to: AT + 1 })).toEqual([])
    })

    it('if all conditions hold', async () => {
      const read = await readerOf(
        recordOf('a', { client: 'app', user: 'ann' }),
        recordOf('b', { client: 'app', user: 'bob', tenant: 'south' }),
        recordOf('c', { client: 'other', user: 'ann' }),
        recordOf('d'),
      )
      expect(idsOf(await read({ client: 'app' }))).toEqual(['a', 'b'])
      expect(idsOf(await read({ user: 'ann' }))).toEqual(['a', 'c'])
      expect(idsOf(await read({ tenant: 'north' }))).toEqual(['a', 'c', 'd'])
      expect(idsOf(await read({ client: 'app', user: 'ann', tenant: 'north' }))).toEqual(['a'])
      expect(await read({ client: 'ap' })).toEqual([])
    })

    it('if a response, the context or a login page shows the patient', async () => {
      const read = await readerOf(
        recordOf('shown', { patients: ['Patient/2', 'Patient/1'] }),
        recordOf('context', { patient: '1' }),
        recordOf('key', { key: 'Patient/1' }),
        recordOf('page', { tenant: '', patients: ['south/Patient/1'] }),
        recordOf('elsewhere', { tenant: 'south', patients: ['Patient/1'] }),
        recordOf('longer', { patients: ['Patient/11', 'Patient/21'], key: 'Patient/11', patient: '11' }),
        recordOf('none'),
      )
      expect(idsOf(await read({ patient: '1' }))).toEqual(['context', 'elsewhere', 'key', 'page', 'shown'])
      expect(idsOf(await read({ patient: '1', tenant: 'north' }))).toEqual(['context', 'key', 'shown'])
      expect(idsOf(await read({ patient: '1', tenant: 'south' }))).toEqual(['elsewhere', 'page'])
    })
  })
}
