/** Function on AWS that archives audit records. */
import { writtenAuditRecord } from '../../adapters/dynamodb/stream/audit-records.ts'
import type { StreamEvent } from '../../adapters/dynamodb/stream/stream.ts'
import { openS3AuditArchive } from '../../adapters/s3/open-blob-store.ts'
import type { PartialBatchResponse } from '../../indexing/stream/stream-follower.ts'
import type { AuditArchive } from '../../ports/security/audit-archive.ts'
import { once } from '../once.ts'
import { report } from './log.ts'
import { deploymentSettings } from './ports.ts'

/**
 * Returns a function that archives the audit records of a batch of the stream, all or none of them. The batch is named by its first and last
 * record, so Lambda's second delivery of it replaces the same objects.
 */
export const archiveStream =
  (archive: AuditArchive) =>
  async ({ Records }: StreamEvent): Promise<PartialBatchResponse> => {
    const records = Records.flatMap((record) => writtenAuditRecord(record) ?? [])
    const [first = '', last] = [Records[0], Records.at(-1)].map((record) => record?.dynamodb?.SequenceNumber)
    try {
      if (records.length > 0) await archive.add(records, `${first}-${last}`)
      return { batchItemFailures: [] }
    } catch (error) {
      report(error, 'audit-archive')
      return { batchItemFailures: [{ itemIdentifier: first }] }
    }
  }

const archive = /* @__PURE__ */ once(() => openS3AuditArchive(deploymentSettings().auditBucket))

export const archiveAuditRecords = (event: StreamEvent): Promise<PartialBatchResponse> => archiveStream(archive())(event)
