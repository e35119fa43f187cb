/** Part of deploy-check.ts. Finds a maximum of the resource table that DynamoDB may retain although the settings no longer have one. */
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Settings } from '../settings/settings.ts'
import { ignoreErrorsNamed } from './error-names.ts'

/** DynamoDB reports this value, or none, for a table without a maximum. */
const NO_MAXIMUM = -1

/** An adopted table needs no check: its deployment removes the maximum. CloudFormation has no value that removes that of its own table. */
export async function findRetainedMaximum({ settings }: { readonly settings: Settings }): Promise<readonly string[]> {
  const { stage, region, capacity, restored } = settings
  if (capacity.most !== undefined || restored !== undefined) return []
  const input = new CloudFormationClient({ region }).send(new DescribeStacksCommand({ StackName: `fhir-${stage}-data` }))
  const { Outputs = [] } = (await input.catch(ignoreErrorsNamed('ValidationError')))?.Stacks?.[0] ?? {}
  const TableName = Outputs.find(({ OutputKey }) => OutputKey === 'ResourceTableName')?.OutputValue
  if (TableName === undefined) return []
  const { Table } = await new DynamoDBClient({ region }).send(new DescribeTableCommand({ TableName }))
  const { MaxReadRequestUnits: reads = NO_MAXIMUM, MaxWriteRequestUnits: writes = NO_MAXIMUM } = Table?.OnDemandThroughput ?? {}
  if (reads === NO_MAXIMUM && writes === NO_MAXIMUM) return []
  const units = (count: number): string => (count === NO_MAXIMUM ? 'any number of' : count.toLocaleString('en'))
  return [
    `the resource table accepts ${units(reads)} read and ${units(writes)} write units per second. The settings have no maximum, but DynamoDB may retain this one. Set capacity.most, or remove the maximum after the deployment: aws dynamodb update-table --region ${region} --table-name ${TableName} --on-demand-throughput MaxReadRequestUnits=${NO_MAXIMUM},MaxWriteRequestUnits=${NO_MAXIMUM}`,
  ]
}
