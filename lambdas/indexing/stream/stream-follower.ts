/**
 * Follows the stream of a store: indexes its versions, and builds the parameters that SearchParameters define. Names failed records, which
 * are delivered again with all records after them.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { indexStream, type StreamChange, type StreamParts } from './index-stream.ts'

/** Attributes that every record of a stream has. */
type Sequenced = { readonly dynamodb?: { readonly SequenceNumber?: string } }

export type StreamFollowerParts<StreamRecord> = Omit<StreamParts, 'reading'> & {
  /** Returns the version in a record, or undefined if it has none. */
  readonly versionOf: (record: StreamRecord) => Promise<ResourceVersion | undefined>
  /** Returns the search contexts that include the definitions in these versions. */
  readonly readingAfter: (versions: readonly ResourceVersion[]) => Promise<StreamParts['reading']>
  /** Receives the errors of records that could not be read. These records are delivered again. */
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
