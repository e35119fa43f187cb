/** What follows the stream of the table: each function gets its records in order, a failed one alone, and what none can take is put aside. */
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
  /** Sort keys of the items that matter. */
  readonly sorts: readonly string[]
  readonly parallelizationFactor: number
}

/** Below the 24 hours a stream keeps, so that what cannot be done is put aside instead of lost. */
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

/** The role of the function says what it takes (permissions/grants.ts). */
const putAside = ({ bucketArn }: IBucket): IEventSourceDlq => ({ bind: () => ({ destination: bucketArn }) })
