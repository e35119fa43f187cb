/**
 * Follows the stream of a store: what was written becomes searchable, what a SearchParameter defines is built. Failed records are named, and
 * come again with all after them. https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { indexStream, type StreamChange, type StreamParts } from './index-stream.ts'

/** What every record of a stream has. */
type Sequenced = { readonly dynamodb?: { readonly SequenceNumber?: string } }

export type StreamFollowerParts<StreamRecord> = Omit<StreamParts, 'reading'> & {
  /** undefined: the record tells of none. */
  readonly versionOf: (record: StreamRecord) => Promise<ResourceVersion | undefined>
  /** How texts are read once these versions are known. */
  readonly readingAfter: (versions: readonly ResourceVersion[]) => Promise<StreamParts['reading']>
  /** Told of records that could not be read: they come again. */
  readonly report: (error: unknown, sequence: string) => void
}

export type PartialBatchResponse = { readonly batchItemFailures: readonly { readonly itemIdentifier: string }[] }

export const followStream =
  <StreamRecord extends Sequenced>({ versionOf, readingAfter, report, ...parts }: StreamFollowerParts<StreamRecord>) =>
  async ({ Records }: { readonly Records: readonly StreamRecord[] }): Promise<PartialBatchResponse> => {
    const failed: string[] = []
    const read = await Promise.all(
      Records.map(async (record): Promise<StreamChange | undefined> => {
        const sequence = record.dynamodb?.SequenceNumber ?? ''
        try {
          const version = await versionOf(record)
          return version && { sequence, version }
        } catch (error) {
          report(error, sequence)
          failed.push(sequence)
          return undefined
        }
      }),
    )
    const changes = read.filter((change) => change !== undefined)
    if (changes.length > 0) {
      const reading = await readingAfter(changes.map(({ version }) => version))
      failed.push(...(await indexStream(changes, { ...parts, reading })))
    }
    return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) }
  }
