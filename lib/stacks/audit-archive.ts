/**
 * Archive of audit records. The data stack has its bucket, which retains them for years. The service stack has the function that follows the
 * stream of the state table.
 */
import { CfnOutput, CrossStackReferences, type CustomResource, Duration, ReferenceStrength, Stack } from 'aws-cdk-lib'
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Bucket, BucketEncryption, type BucketProps, type IBucket, ObjectLockRetention } from 'aws-cdk-lib/aws-s3'
import type { Construct } from 'constructs'
import type { FunctionName } from '../../lambdas/functions/functions.ts'
import type { DeployedNames } from '../monitoring/watch.ts'
import { allowStateStreamReading } from '../permissions/audit-grants.ts'
import type { AwsResources } from '../permissions/permissions.ts'
import { isArchiving, type Settings } from '../settings/settings.ts'
import type { FhirFunction, OwnProps } from './fhir-function.ts'
import { followStream } from './stream-indexer.ts'

/** Days of a year of retention. No calendar year is longer. */
const DAYS_OF_YEAR = 366

/** `years`: value of the setting. `logs`: bucket for access logs. `common`: properties of every bucket of the data stack. */
export type AuditBucketProps = { readonly years: number; readonly key: IKey; readonly logs: IBucket; readonly common: BucketProps }

/**
 * Creates the bucket. In the mode COMPLIANCE S3 deletes no record before its retention ends. In the mode GOVERNANCE, administrators of the
 * account could delete the records of their own commands. With 0 years the bucket and its records stay.
 */
export function createAuditBucket(scope: Construct, { years, key, logs, common }: AuditBucketProps): IBucket {
  const bucket = new Bucket(scope, 'AuditBucket', {
    ...common,
    encryption: BucketEncryption.KMS,
    encryptionKey: key,
    bucketKeyEnabled: true,
    serverAccessLogsBucket: logs,
    serverAccessLogsPrefix: 'audit-bucket/',
    objectLockEnabled: true,
    ...(years === 0 ? {} : { objectLockDefaultRetention: ObjectLockRetention.compliance(Duration.days(years * DAYS_OF_YEAR)) }),
  })
  // CloudFormation refuses to remove an export that the service stack imports. The archive could then not be switched off.
  CrossStackReferences.of(bucket).produce(ReferenceStrength.WEAK)
  new CfnOutput(scope, 'AuditBucketName', { value: bucket.bucketName })
  return bucket as IBucket
}

/** Stream records of audit items that were written or overwritten. Removals change nothing in the archive. */
const PATTERN = { eventName: ['INSERT', 'MODIFY'], dynamodb: { Keys: { pk: { S: [{ prefix: 'AUDIT#' }] } } } }

/** Each batch becomes an object for each day and tenant, so large batches cost less. Lambda also limits a batch to 6 MB. */
const BATCH = { size: 10_000, window: Duration.minutes(5) }

export type ArchiveParts = {
  readonly aws: AwsResources
  readonly data: { readonly stateTable: TableV2; readonly bucket: IBucket }
  /** Adoption of restored tables, if the settings name any. */
  readonly adoption: CustomResource | undefined
}

/** Creates the function of the archive, if the settings have one. Returns the names of the function and of its event source mapping. */
export function archiveAudit(
  settings: Settings,
  { aws, data: { stateTable, bucket }, adoption }: ArchiveParts,
  createFunction: (name: FunctionName, aws: AwsResources, own: OwnProps) => FhirFunction,
): Pick<DeployedNames, 'archive'> {
  if (!isArchiving(settings)) return {}
  const streamArn =
    settings.restored?.state === undefined
      ? Stack.consumeReference(stateTable.tableStreamArn!, ReferenceStrength.WEAK)
      : adoption!.getAttString('StateStreamArn')
  const statements = allowStateStreamReading(aws, streamArn)
  const archiver = createFunction('audit-archive', aws, { statements })
  const mapping = followStream(archiver, { streamArn, bucket, pattern: PATTERN, batch: BATCH, parallelizationFactor: 1 })
  return { archive: { archiver: archiver.function.functionName, mapping: mapping.eventSourceMappingId } }
}
