/**
 * Items of the state table that hold transfers. They have only keys, so writing a transfer again changes nothing. Functions load this file with
 * the first transfer.
 */
import type { Transfer } from '../../../ports/security/transfers.ts'
import { KnownTransfers, TRANSFER_RETENTION_DAYS, transferOf } from '../../../ports/security/transfers.ts'
import { hashOf } from '../../../ports/store/fnv-hash.ts'
import { auditRecordOf } from '../audit-items.ts'
import type { Item } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'

/** Partitions for the transfers of each month, because one partition accepts 1,000 writes per second. */
export const TRANSFER_PARTITIONS = 64

const DAY = 24 * 60 * 60 * 1_000

/** Transfers that each log has written, to write each only once. */
const KNOWN = new WeakMap<object, KnownTransfers>()

/** Returns the items of transfers in the audit items that the log has not written before. */
export function newTransferItems(log: object, auditItems: readonly Item[]): readonly Item[] {
  const known = KNOWN.get(log) ?? new KnownTransfers()
  KNOWN.set(log, known)
  const transfers = auditItems.map((item) => transferOf([auditRecordOf(item).record])).filter((each) => each !== undefined)
  return transfers.filter((each) => known.add(each)).map(transferItemOf)
}

/** Returns the item of a transfer. The client stands last in the sort key, because its id may contain slashes. */
function transferItemOf({ day, tenant, patient, client }: Transfer): Item {
  const sk = [tenant, patient, day, client].join('/')
  const expires = Date.parse(day) + TRANSFER_RETENTION_DAYS * DAY
  return { pk: transferPartitionOf(day.slice(0, 7), hashOf(sk) % TRANSFER_PARTITIONS), sk, [EXPIRY_ATTRIBUTE]: expires / 1_000 }
}

/** Returns the transfer of an item. */
export function transferIn({ sk }: Item): Transfer {
  const [, tenant, patient, day, client] = /^(.*?)\/(.*?)\/(.*?)\/(.*)$/s.exec(String(sk)) as unknown as readonly [
    string,
    string,
    string,
    string,
    string,
  ]
  return { day, tenant, patient, client }
}

/** Returns the partition key of transfers. `month`: as `2026-01`. `partition`: 0 to 63. */
export const transferPartitionOf = (month: string, partition: number): string => `USAGE#${month}#${partition}`
