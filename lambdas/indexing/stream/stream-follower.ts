/**
 * Follows the change stream of a store. Indexes its versions with the parameters that SearchParameters in the same batch define. Returns
 * the failed records. Lambda delivers the first of them and all later records again.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
 */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { indexStream, type StreamChange, type StreamParts } from './index-stream.ts'

/** Attributes that the records of all streams have. */
type Sequenced = { readonly dynamodb?: { readonly SequenceNumber?: string } }

export type StreamFollowerParts<StreamRecord> = Omit<StreamParts, 'reading'> & {
  /** Returns the version in a record, or undefined if the record holds something else, such as a beat. */
  readonly versionOf: (record: StreamRecord) => Promise<ResourceVersion | undefined>
  /** Applies the definitions in these versions, and returns search contexts that include them. */
  readonly readingAfter: (versions: readonly ResourceVersion[]) => Promise<StreamParts['reading']>
  /** Receives the error of each record that could not be read. The record is delivered again. */
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
