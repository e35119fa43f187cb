/**
 * Records of the table's stream as versions. A record may come again, also after later ones of its resource; within one delivery those of
 * a resource are in order. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.Lambda.html
 */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import { Damaged } from '../../../ports/faults/damaged.ts'
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

/**
 * Whether it tells of this table. While a deployment exchanges tables, who follows the new one is still given records of the one before, whose
 * versions are not those of the new one. https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
 */
export const isOfTable = ({ eventSourceARN }: StreamRecord, table: string): boolean =>
  eventSourceARN === undefined || eventSourceARN.split(':').at(5)?.split('/')[1] === table

/**
 * The version a record tells of. undefined: none, as for copies, guards, records of transactions, and heads a transaction has staged
 * something at, which a record of their own follows when it is settled. A version that is damaged comes without a body.
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
    if (!(error instanceof Damaged)) throw error
    return { ...key, versionId: v.vid, lastUpdated: v.lu, deleted: v.del === true, compartments: [], body: new Uint8Array() }
  }
}

/** The large transaction that a record tells to be decided, and not settled yet. undefined: the record is another item's, or tells less or more. */
export function transactionOfRecord({ dynamodb }: StreamRecord): Transaction | undefined {
  const { sk, state, gpk, settled, tenant, id } = dynamodb?.NewImage ?? {}
  if (sk?.S !== RECORD_SORT_KEY || state?.S === 'PENDING' || gpk === undefined || settled !== undefined) return undefined
  return { tenant: tenant?.S ?? '', id: id?.S ?? '' }
}
