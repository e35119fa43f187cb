/**
 * Processing of a table's stream. Each function receives the records of an item in their order. A failing batch is split until the failing
 * record is alone. Records that cannot be processed are stored in the bucket.
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
import type { Network } from './network.ts'

export type FollowStreamProps = {
  readonly streamArn: string
  readonly bucket: IBucket
  /** Pattern of the records that the function receives. */
  readonly pattern: object
  readonly parallelizationFactor: number
  /** Default: 500 records, without waiting for more. */
  readonly batch?: Batch
}

/** Maximum records of a batch, and how long it may wait for more. */
export type Batch = { readonly size: number; readonly window: Duration }

/** Variables by which a function counts the partitions of the stream. */
export const streamEnvironmentOf = (
  streamArn: string,
  { parallelizationFactor }: Pick<FollowStreamProps, 'parallelizationFactor'>,
  network: Pick<Network, 'streamsUrl'> | undefined,
): Readonly<Record<string, string>> => ({
  FHIR_STREAM: streamArn,
  FHIR_STREAM_PARALLELIZATION: String(parallelizationFactor),
  ...(network === undefined ? {} : { AWS_ENDPOINT_URL_DYNAMODB_STREAMS: network.streamsUrl }),
})

/** Maximum age of a record that is retried. An older one is stored in the bucket, before the stream removes it after 24 hours. */
const OLDEST = Duration.hours(20)
const FOR_EVER = -1

export function followStream(
  follower: FhirFunction,
  { streamArn, bucket, pattern, parallelizationFactor, batch = { size: 500, window: Duration.seconds(0) } }: FollowStreamProps,
): EventSourceMapping {
  const mapping = new EventSourceMapping(follower, 'Stream', {
    target: follower.function,
    eventSourceArn: streamArn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    batchSize: batch.size,
    maxBatchingWindow: batch.window,
    bisectBatchOnError: true,
    reportBatchItemFailures: true,
    maxRecordAge: OLDEST,
    parallelizationFactor,
    filters: [FilterCriteria.filter(pattern)],
    onFailure: putAside(bucket),
    metricsConfig: { metrics: [MetricType.EVENT_COUNT] },
  })
  ;(mapping.node.defaultChild as CfnEventSourceMapping).maximumRetryAttempts = FOR_EVER
  return mapping
}

/** Returns the bucket as destination of failed records. The function's role already has the permissions for it (permissions/grants.ts). */
const putAside = ({ bucketArn }: IBucket): IEventSourceDlq => ({ bind: () => ({ destination: bucketArn }) })
