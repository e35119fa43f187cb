/** Part of deploy-check.ts. Finds problems that prevent a deployment from adopting restored tables. */
import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation'
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DescribeKeyCommand, KMSClient } from '@aws-sdk/client-kms'
import { mismatchOf } from '../../lambdas/adapters/dynamodb/stream/restored-table.ts'
import type { RestoredTables } from '../settings/restored-tables.ts'
import type { Settings } from '../settings/settings.ts'
import { functionEnvironmentsOf, readDeployedResources } from './deployed-variables.ts'
import { ignoreErrorsNamed } from './error-names.ts'

type Lines = readonly string[]

const RUNBOOK = 'lib/docs/restore.md describes the steps of a restore'

export async function findRestoredTableProblems({
  settings: { stage, region, restored },
}: {
  readonly settings: Settings
}): Promise<Lines> {
  const formation = new CloudFormationClient({ region })
  const deployed = await deployedTables(formation, `fhir-${stage}-service`)
  if (restored === undefined)
    return deployed.epoch === 0
      ? []
      : [
          `the stage uses tables of the restore with the epoch ${deployed.epoch}, but its settings lack them: add restored again (${deployed.resources})`,
        ]
  const lines = [...turnOf(restored, deployed)]
  const key = await keyOf(formation, region, `fhir-${stage}-data`)
  if (key === undefined) return [...lines, `there is no stack fhir-${stage}-data whose tables these could replace`]
  if (key.state !== 'Enabled') lines.push(`the key of the stage is ${key.state}: nothing in these tables can be read`)
  const client = new DynamoDBClient({ region })
  const { resources, state, former, instant } = restored
  const before = former === undefined ? {} : { former: { name: former, instant: Date.parse(instant) } }
  const found = await Promise.all([
    tableLines(client, { name: resources, key: key.arn, isFollowed: true, ...before }),
    ...(state === undefined ? [] : [tableLines(client, { name: state, key: key.arn, isFollowed: false })]),
    ...(former === undefined ? [] : [previousTableLines(client, former)]),
  ])
  return [...lines, ...found.flat()]
}

type Deployed = { readonly epoch: number; readonly resources?: string; readonly state?: string; readonly isStopped: boolean }

/** Returns the tables that the deployed functions use, according to the template of the service stack. */
async function deployedTables(client: CloudFormationClient, StackName: string): Promise<Deployed> {
  const resources = await readDeployedResources(client, StackName)
  const variables = functionEnvironmentsOf(resources)
  const adopted = resources.find(({ Type }) => Type === 'Custom::FhirAdoptedTables')?.Properties as { Resources: string; State?: string }
  return {
    epoch: Math.max(0, ...variables.map(({ FHIR_EPOCH = 0 }) => Number(FHIR_EPOCH))),
    ...(adopted === undefined ? {} : { resources: adopted.Resources, ...(adopted.State === undefined ? {} : { state: adopted.State }) }),
    isStopped: variables.some(({ FHIR_WRITES }) => FHIR_WRITES === 'stopped'),
  }
}

/** Yields problems with the epoch, and with writes that would be lost. Only a higher epoch marks another restore. */
function* turnOf({ epoch, resources, state }: RestoredTables, before: Deployed): Generator<string> {
  const isSame = resources === before.resources && state === before.state
  if (epoch < before.epoch) yield `restored.epoch is ${epoch}, but ${before.epoch} is deployed, and an epoch never decreases`
  if (epoch === before.epoch && !isSame)
    yield `restored names other tables than the deployed ones with the same epoch: set epoch ${epoch + 1} for this restore`
  if (epoch > before.epoch && !before.isStopped)
    yield `writes continue, and would be lost: deploy with "service": { "writes": "stopped" } first. ${RUNBOOK}`
}

type Key = { readonly arn: string; readonly state: string }

async function keyOf(formation: CloudFormationClient, region: string, StackName: string): Promise<Key | undefined> {
  const KeyId = await keyIn(formation, StackName).catch(ignoreErrorsNamed('ValidationError'))
  if (KeyId === undefined) return undefined
  const { KeyMetadata } = await new KMSClient({ region }).send(new DescribeKeyCommand({ KeyId }))
  return { arn: KeyMetadata?.Arn ?? '', state: KeyMetadata?.KeyState ?? 'unknown' }
}

async function keyIn(client: CloudFormationClient, StackName: string): Promise<string | undefined> {
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName })) {
    const key = StackResourceSummaries.find(({ ResourceType }) => ResourceType === 'AWS::KMS::Key')
    if (key !== undefined) return key.PhysicalResourceId
  }
  return undefined
}

async function tableLines(client: DynamoDBClient, expected: Parameters<typeof mismatchOf>[1]): Promise<Lines> {
  const table = await described(client, expected.name)
  if (table === undefined) return [`there is no table ${expected.name}. ${RUNBOOK}`]
  if (table.TableStatus !== 'ACTIVE') return [`the table ${expected.name} is ${table.TableStatus}: wait until it is ACTIVE`]
  const mismatch = mismatchOf(table, expected)
  return mismatch === undefined ? [] : [`the table ${expected.name} ${mismatch}`]
}

const previousTableLines = async (client: DynamoDBClient, name: string): Promise<Lines> =>
  (await described(client, name)) === undefined
    ? [`there is no table ${name}: without restored.former the server rebuilds all documents of the index`]
    : []

const described = async (client: DynamoDBClient, TableName: string) =>
  (await client.send(new DescribeTableCommand({ TableName })).catch(ignoreErrorsNamed('ResourceNotFoundException')))?.Table
