/** The function that follows the table's stream: what was written becomes searchable. Failed records are named, and come again with all after them. */
import { indexStream, type StreamChange, type StreamParts } from '../indexing/index-stream.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'

/** What every record of a stream has. */
type Sequenced = { readonly dynamodb?: { readonly SequenceNumber?: string } }

export type IndexerParts<StreamRecord> = StreamParts & {
  /** undefined: the record tells of none. */
  readonly versionOf: (record: StreamRecord) => Promise<ResourceVersion | undefined>
  /** Told of records that could not be read: they come again. */
  readonly report: (error: unknown, sequence: string) => void
}

/** https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html */
export type IndexerResult = { readonly batchItemFailures: readonly { readonly itemIdentifier: string }[] }

export const indexer =
  <StreamRecord extends Sequenced>({ versionOf, report, ...parts }: IndexerParts<StreamRecord>) =>
  async ({ Records }: { readonly Records: readonly StreamRecord[] }): Promise<IndexerResult> => {
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
    if (changes.length > 0) failed.push(...(await indexStream(changes, parts)))
    return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) }
  }
