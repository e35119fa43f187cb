/**
 * Converts records of the table's stream to versions. Lambda may deliver a record again, even after later records of its resource. Within
 * one delivery the records of a resource are in order. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.Lambda.html
 */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import { isFault } from '../../../ports/faults.ts'
import type { ResourceVersion } from '../../../ports/store/resource-store.ts'
import { type EventValue, toPlainItem } from '../attributes.ts'
import { RECORD_SORT_KEY, type Transaction } from '../commit/transaction-record.ts'
import { HEAD_SORT_KEY, parsePrimaryKey } from '../table-keys.ts'
import { type HeadItem, versionOf } from '../version-item.ts'

export type StreamRecord = {
  readonly eventSourceARN?: string
  readonly dynamodb?: {
    readonly SequenceNumber?: string
    readonly ApproximateCreationDateTime?: number
    readonly NewImage?: Readonly<Record<string, EventValue>>
    readonly OldImage?: Readonly<Record<string, EventValue>>
  }
}

/** Event that Lambda delivers. */
export type StreamEvent = { readonly Records: readonly StreamRecord[] }

/**
 * Whether the record belongs to this table. While a deployment replaces the table, the function of the new table still receives records of
 * the previous one, which it must ignore.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
 */
export const isOfTable = ({ eventSourceARN }: StreamRecord, table: string): boolean =>
  eventSourceARN === undefined || eventSourceARN.split(':').at(5)?.split('/')[1] === table

/**
 * Returns the version that a stream record contains, or undefined for any record other than a head item. A head item with a staged version
 * also returns undefined: settling it creates a record of its own. A damaged version is returned with an empty body.
 */
export async function versionOfRecord({ dynamodb }: StreamRecord, blobs: BlobStore): Promise<ResourceVersion | undefined> {
  const image = dynamodb?.NewImage
  if (image?.sk?.S !== HEAD_SORT_KEY || image.ptx !== undefined) return undefined
  const { pk, v } = toPlainItem(image) as unknown as HeadItem
  if (v === undefined) return undefined
  const key = parsePrimaryKey(pk)
  try {
    return await versionOf(key, v, blobs)
  } catch (error) {
    if (!isFault(error, 'store-damaged')) throw error
    return { ...key, versionId: v.vid, lastUpdated: v.lu, deleted: v.del === true, compartments: [], body: new Uint8Array() }
  }
}

/** Returns the large transaction that a stream record reports as decided but not settled, or undefined for any other record. */
export function transactionOfRecord({ dynamodb }: StreamRecord): Transaction | undefined {
  const { sk, state, gpk, settled, tenant, id } = dynamodb?.NewImage ?? {}
  if (sk?.S !== RECORD_SORT_KEY || state?.S === 'PENDING' || gpk === undefined || settled !== undefined) return undefined
  return { tenant: tenant?.S ?? '', id: id?.S ?? '' }
}
