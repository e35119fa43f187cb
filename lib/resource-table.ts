/**
 * The two DynamoDB tables: one for resources, one for other state that functions share. lambdas/adapters/dynamodb/table-keys.ts describes
 * the keys and items of the resource table. A test compares both definitions of it.
 */
import { RemovalPolicy } from 'aws-cdk-lib'
import {
  AttributeType,
  Billing,
  ProjectionType,
  StreamViewType,
  TableEncryptionV2,
  type TablePropsV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { type CapacityUnits, type TableCapacity, warmIndexOf, warmStateOf } from './settings/table-capacity.ts'

export const INDEX_NAME = 'gsi1'

const text = (name: string) => ({ name, type: AttributeType.STRING })

const retainedTable = (key: IKey): TablePropsV2 => ({
  partitionKey: text('pk'),
  sortKey: text('sk'),
  timeToLiveAttribute: 'expires',
  encryption: TableEncryptionV2.customerManagedKey(key),
  pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
  deletionProtection: true,
  removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
})

export const createResourceTable = (scope: Construct, key: IKey, { warm, most }: TableCapacity): TableV2 =>
  new TableV2(scope, 'ResourceTable', {
    ...retainedTable(key),
    billing: Billing.onDemand(most === undefined ? {} : { maxReadRequestUnits: most.reads, maxWriteRequestUnits: most.writes }),
    ...warmThroughputOf(warm),
    // The stream readers of this project need only the new images. A replica in another region would need both, and the view of a stream
    // cannot change later.
    dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES,
    globalSecondaryIndexes: [
      {
        indexName: INDEX_NAME,
        partitionKey: text('gpk'),
        sortKey: text('gsk'),
        projectionType: ProjectionType.INCLUDE,
        nonKeyAttributes: ['sup'],
        ...warmThroughputOf(warmIndexOf(warm)),
      },
    ],
  })

/**
 * Creates the table for shared state, such as audit records, definitions and their indices, and the key for seals. `isFollowed`: it has a
 * stream, for the archive of audit records.
 */
export const createStateTable = (scope: Construct, key: IKey, { warm }: TableCapacity, isFollowed: boolean): TableV2 =>
  new TableV2(scope, 'StateTable', {
    ...retainedTable(key),
    billing: Billing.onDemand(),
    ...warmThroughputOf(warmStateOf(warm)),
    ...(isFollowed ? { dynamoStream: StreamViewType.NEW_IMAGE } : {}),
  })

const warmThroughputOf = (units: CapacityUnits | undefined) =>
  units === undefined ? {} : { warmThroughput: { readUnitsPerSecond: units.reads, writeUnitsPerSecond: units.writes } }
