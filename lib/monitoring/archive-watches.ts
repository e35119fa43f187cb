/** Watches for the archive of audit records, where the stage has one. The records are also in the state table, for `auditRetentionDays`. */
import { type DeployedNames, functionMetricOf, mappingMetricOf, type Watch } from './watch.ts'

export function watchesOfArchive({ archiver, mapping }: NonNullable<DeployedNames['archive']>): readonly Watch[] {
  return [
    {
      title: 'Age of audit records to archive, ms',
      metrics: [functionMetricOf(archiver, 'IteratorAge', 'Maximum')],
      alarm: {
        name: 'ArchiveAge',
        severity: 'ticket',
        above: 900_000,
        periods: 2,
        means: 'audit records reach the archive after more than a quarter of an hour',
        todo: 'Look at the log of audit-archive. It retries a failed record for 20 hours; fix the cause before. Then it continues by itself',
      },
    },
    {
      title: 'Errors of the archive',
      metrics: [functionMetricOf(archiver, 'Errors', 'Sum'), mappingMetricOf(mapping, 'FailedInvokeEventCount', 'Sum')],
      alarm: {
        name: 'ArchiveErrors',
        severity: 'ticket',
        above: 0,
        periods: 3,
        means: 'the function audit-archive fails repeatedly, or leaves records',
        todo: 'Look at its log. The stream retains records for 24 hours',
      },
    },
    {
      title: 'Reads of the stream of audit records',
      metrics: [mappingMetricOf(mapping, 'PolledEventCount', 'SampleCount')],
      alarm: {
        name: 'ArchiveNotFollowed',
        severity: 'ticket',
        below: 1,
        periods: 3,
        isSilenceWrong: true,
        means:
          'audit-archive has not read the stream of the state table for a quarter of an hour. After 24 hours records are never archived',
        todo: 'Check the event source mapping of audit-archive: whether it is enabled, its last result, and the permissions of its role for the key and the stream',
      },
    },
    {
      title: 'Audit records stored in the bucket instead of the archive',
      metrics: [mappingMetricOf(mapping, 'OnFailureDestinationDeliveredEventCount', 'Sum')],
      alarm: {
        name: 'ArchivePutAside',
        severity: 'ticket',
        above: 0,
        means: 'audit-archive could not process records for 20 hours. They are stored under aws/lambda/ in the bucket',
        todo: 'Fix the cause, then run npm run fhir -- redrive --stage STAGE',
      },
    },
    {
      title: 'Audit records missing in the archive',
      metrics: [mappingMetricOf(mapping, 'DroppedEventCount', 'Sum')],
      alarm: {
        name: 'ArchiveDropped',
        severity: 'page',
        above: 0,
        means: 'audit-archive could not process records, and they could not be stored in the bucket. They are in the state table only',
        todo: 'Check the permissions of its role in the bucket, and fix the cause. Save the records of that time with fhir audit --stage STAGE before auditRetentionDays have passed',
      },
    },
  ]
}
