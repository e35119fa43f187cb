/**
 * Processing of the resource table's stream. Each function receives the records of an item in their order. A failing batch is split until
 * the failing record is alone. Records that cannot be processed are stored in the bucket.
 */
import { Duration } from 'aws-cdk-lib'
import {
  type CfnEventSourceMapping,
  EventSourceMapping,
  FilterCriteria,
  type IEventSourceDlq,
  MetricType,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import type { FhirFunction } from './fhir-function.ts'

export type FollowStreamProps = {
  readonly streamArn: string
  readonly bucket: IBucket
  /** Sort keys of the items whose records the function receives. */
  readonly sorts: readonly string[]
  readonly parallelizationFactor: number
}

/** Maximum age of a record that is retried. An older one is stored in the bucket, before the stream removes it after 24 hours. */
const OLDEST = Duration.hours(20)
const FOR_EVER = -1

export function followStream(
  follower: FhirFunction,
  { streamArn, bucket, sorts, parallelizationFactor }: FollowStreamProps,
): EventSourceMapping {
  const mapping = new EventSourceMapping(follower, 'Stream', {
    target: follower.function,
    eventSourceArn: streamArn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    batchSize: 500,
    maxBatchingWindow: Duration.seconds(0),
    bisectBatchOnError: true,
    reportBatchItemFailures: true,
    maxRecordAge: OLDEST,
    parallelizationFactor,
    filters: [FilterCriteria.filter({ dynamodb: { Keys: { sk: { S: sorts } } } })],
    onFailure: putAside(bucket),
    metricsConfig: { metrics: [MetricType.EVENT_COUNT] },
  })
  ;(mapping.node.defaultChild as CfnEventSourceMapping).maximumRetryAttempts = FOR_EVER
  return mapping
}

/** Returns the bucket as destination of failed records. The function's role already has the permissions for it (permissions/grants.ts). */
const putAside = ({ bucketArn }: IBucket): IEventSourceDlq => ({ bind: () => ({ destination: bucketArn }) })
