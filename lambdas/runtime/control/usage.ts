/** Usage of the server, as US payers report it, from a data folder. */
import { join } from 'node:path'
import { FilesystemTransferReader } from '../../adapters/filesystem/transfers.ts'
import type { AuditReader } from '../../ports/security/audit-reader.ts'
import { type Transfer, type TransferReader, transferOf } from '../../ports/security/transfers.ts'
import { checkHasData, TRANSFERS_FOLDER } from './lost-files.ts'

export { countDisclosures, type PartnerUsage } from '../../partners/usage/partner-usage.ts'
export {
  countByPlan,
  countTransfers,
  type PatientAccessUsage,
  type PlanUsage,
  type UsageCounts,
} from '../../partners/usage/patient-access-usage.ts'
export type { TransferReader } from '../../ports/security/transfers.ts'

/**
 * Returns the reader of the transfers of a data folder. The server of the folder may run. `onDamaged`: called for each line that is no
 * record. Throws an Error for a folder without a store.
 */
export function openTransferReader(folder: string, onDamaged: (file: string, line: number) => void): TransferReader {
  checkHasData(folder)
  return new FilesystemTransferReader(join(folder, TRANSFERS_FOLDER), onDamaged)
}

/** Returns a reader that yields a transfer for each request in the audit records, so one for each request of a day. */
export const requestsAsTransfers = (records: AuditReader): TransferReader => ({
  async *read(year: number): AsyncGenerator<Transfer> {
    for await (const record of records.read({ from: Date.UTC(year, 0), to: Date.UTC(year + 1, 0) }, {})) {
      const transfer = (record.part ?? 1) === 1 ? transferOf([record]) : undefined
      if (transfer !== undefined) yield transfer
    }
  },
})
