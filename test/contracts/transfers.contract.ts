/** Tests of the guarantees of lambdas/ports/security/transfers.ts. Every pair of log and reader runs this suite. */
import { describe, expect, it } from '@jest/globals'
import type { AuditDurability, AuditLog, AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import type { Transfer, TransferReader } from '../../lambdas/ports/security/transfers.ts'
import { collect } from '../fixtures/collect.ts'

/** `open`: opens the log, as a server that starts. */
export type TransfersUnderTest = { readonly open: () => AuditLog; readonly reader: TransferReader }

const NOON = Date.UTC(2026, 5, 15, 12)
const DAY = 24 * 60 * 60 * 1_000
const recordOf = (more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ at: NOON, requestId: 'r', tenant: 'north', client: 'app', patient: '1', transfer: true, interaction: 'read' },
  ...{ status: 200, duration: 3, ...more },
})
const TRANSFER = { day: '2026-06-15', tenant: 'north', client: 'app', patient: '1' }

const textOf = ({ day, tenant, patient, client }: Transfer): string => [day, tenant, patient, client].join(' ')

export function transfersContract(name: string, create: (durability: AuditDurability) => Promise<TransfersUnderTest>): void {
  describe.each<AuditDurability>(['batched', 'strict'])(`${name}: transfers of %s records`, (durability) => {
    async function write(log: AuditLog, ...records: readonly AuditRecord[]): Promise<void> {
      for (const record of records) {
        await log.prepare(record.at, record.interaction)
        await log.record(record)
      }
    }
    async function readAfter(...records: readonly AuditRecord[]): Promise<readonly string[]> {
      const { open, reader } = await create(durability)
      const log = open()
      await write(log, ...records)
      await log.close()
      return (await collect(reader.read(2026))).map(textOf).toSorted()
    }

    it('are stored once for each tenant, patient, app and day', async () => {
      const others = [{ tenant: 'south' }, { patient: '2' }, { client: 'app/2@https://issuer.example/a b' }, { at: NOON + DAY }]
      const records = [{}, ...others].map((each) => recordOf(each))
      expect(await readAfter(...records, ...records, recordOf({ requestId: 's', interaction: 'search-type' }))).toEqual([
        '2026-06-15 north 1 app',
        '2026-06-15 north 1 app/2@https://issuer.example/a b',
        '2026-06-15 north 2 app',
        '2026-06-15 south 1 app',
        '2026-06-16 north 1 app',
      ])
    })

    it('are not stored for other records', async () => {
      const { transfer: _, ...other } = recordOf()
      expect(await readAfter(other)).toEqual([])
    })

    it('belong to the year of their day', async () => {
      const ends = [Date.UTC(2026, 0), Date.UTC(2027, 0) - 1]
      const found = await readAfter(...[ends[0]! - 1, ...ends, ends[1]! + 1].map((at) => recordOf({ at })))
      expect(found).toEqual(['2026-01-01 north 1 app', '2026-12-31 north 1 app'])
    })

    it('are read once if a restarted server stores them again', async () => {
      const { open, reader } = await create(durability)
      for (let starts = 0; starts < 3; starts++) {
        const log = open()
        await write(log, recordOf())
        await log.close()
      }
      expect(await collect(reader.read(2026))).toEqual([TRANSFER])
    })
  })

  it(`${name}: a transfer of a strict record is stored before the record is acknowledged`, async () => {
    const { open, reader } = await create('strict')
    const log = open()
    await log.prepare(NOON, 'read')
    await log.record(recordOf())
    expect(await collect(reader.read(2026))).toEqual([TRANSFER])
    await log.close()
  })
}
