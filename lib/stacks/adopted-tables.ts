/**
 * Tables that DynamoDB restored, used instead of those of the data stack, which stay unchanged. A function first adds the parts that a
 * restore omits. No other function uses the tables before that.
 */
import { CustomResource, Duration, Stack } from 'aws-cdk-lib'
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Construct } from 'constructs'
import {
  type AwsResources,
  allow,
  allowDecryption,
  type PortAccess,
  READ_ITEM_ACTIONS,
  type TableConstruct,
} from '../permissions/permissions.ts'
import { INDEX_NAME } from '../resource-table.ts'
import type { RestoredTables } from '../settings/restored-tables.ts'
import { type CapacityUnits, type TableCapacity, warmIndexOf, warmStateOf } from '../settings/table-capacity.ts'

export type CurrentTables = Pick<AwsResources, 'resourceTable' | 'stateTable' | 'restoredTables'>

/**
 * Returns the tables in use. Restored tables belong to no stack and are referenced by name. Without a restore they are those of the data
 * stack.
 */
export function currentTablesOf(
  scope: Construct,
  restored: RestoredTables | undefined,
  { resourceTable, stateTable }: { readonly resourceTable: TableConstruct; readonly stateTable: TableConstruct },
): CurrentTables {
  if (restored === undefined) return { resourceTable, stateTable, restoredTables: [] }
  const imported = new Construct(scope, 'Restored')
  const table = (id: string, name: string): TableConstruct => TableV2.fromTableArn(imported, id, tableArn(scope, name))
  const resources = table('Resources', restored.resources)
  const state = restored.state === undefined ? [] : [table('State', restored.state)]
  return { resourceTable: resources, stateTable: state[0] ?? stateTable, restoredTables: [resources, ...state] }
}

/**
 * Adopts the restored tables when the deployment first names them, and again when a property changes, such as the capacity. The attribute
 * `StreamArn` of the result is the stream that functions follow, and with `isArchived` `StateStreamArn` is that of the state table.
 */
export function adoptTables(
  scope: Construct,
  functionArn: string,
  { resources, state, former, instant }: RestoredTables,
  { key, capacity: { most, warm }, isArchived }: { readonly key: string; readonly capacity: TableCapacity; readonly isArchived: boolean },
): CustomResource {
  const units = (capacityUnits: CapacityUnits | undefined) => capacityUnits && `${capacityUnits.reads} ${capacityUnits.writes}`
  return new CustomResource(scope, 'AdoptedTables', {
    resourceType: 'Custom::FhirAdoptedTables',
    serviceToken: functionArn,
    serviceTimeout: Duration.minutes(10),
    properties: {
      ...{ Resources: resources, State: state, Key: key, Most: units(most), Former: former, Instant: instant },
      ...{ Warm: units(warm), WarmIndex: units(warmIndexOf(warm)), WarmState: state && units(warmStateOf(warm)) },
      ...(isArchived && state !== undefined ? { StateStream: 'yes' } : {}),
    },
  })
}

/**
 * Returns the access of functions that find the keys changed since the restored instant. They may read the previous table if it still
 * exists.
 */
export function changedKeysAccessOf(scope: Construct, restored: RestoredTables | undefined, aws: AwsResources): PortAccess {
  if (restored === undefined) return { environment: {}, statements: [] }
  const { instant, former } = restored
  if (former === undefined) return { environment: { FHIR_RESTORED_AT: instant }, statements: [] }
  const arn = tableArn(scope, former)
  return {
    environment: { FHIR_RESTORED_AT: instant, FHIR_FORMER_TABLE: former },
    statements: [allow(READ_ITEM_ACTIONS, [arn]), allow(['dynamodb:Query'], [`${arn}/index/${INDEX_NAME}`]), allowDecryption(aws)],
  }
}

const tableArn = (scope: Construct, name: string): string =>
  Stack.of(scope).formatArn({ service: 'dynamodb', resource: 'table', resourceName: name })
