/** Building blocks of grants: the resources of a stage, and policy statements about them. */
import { Stack } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { IConstruct } from 'constructs'
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'
import type { IndexCopies } from '../settings/domain-sizes.ts'
import type { ExportTarget } from '../settings/export-settings.ts'

/** Table that a stack created or DynamoDB restored. */
export type TableConstruct = IConstruct & { readonly tableName: string; readonly tableArn: string }

export type AwsResources = {
  readonly stage: string
  readonly key: IKey
  readonly resourceTable: TableConstruct
  readonly stateTable: TableConstruct
  /** The restored ones of these two tables. */
  readonly restoredTables: readonly TableConstruct[]
  /** Index partitions of the resource table, by type. */
  readonly indexShards: IndexShards
  readonly conditionalVersions: number
  readonly bucket: IBucket
  /** Archive of audit records and disclosures; absent if the stage archives none. */
  readonly auditBucket?: IBucket
  readonly searchEndpoint: string
  readonly searchCopies: IndexCopies
  /** ARN of the domain. If absent, functions send unsigned requests to OpenSearch and need no permissions for it. */
  readonly searchDomainArn?: string
  /** ARN of the state machine for rebuilds; absent until it is created. */
  readonly rebuildWorkflow?: string
  readonly exportMachine?: StateMachine
  readonly exportBucket: IBucket
  /** ARNs of the keys for links, newest first. Only the newest signs. */
  readonly linkKeys: readonly string[]
  readonly links?: FileLinkOptions
  /** Locations that scheduled exports are copied to. */
  readonly exportTargets: readonly ExportTarget[]
}

/** Values that functions need to create links to export files. */
export type FileLinkOptions = { readonly origin: string; readonly keyPairId: string; readonly keyId: string }

export type PortAccess = { readonly environment: Readonly<Record<string, string>>; readonly statements: readonly PolicyStatement[] }

export type PortGrant = (aws: AwsResources) => PortAccess

export const READ_ITEM_ACTIONS = ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query']

/** Paths of a search domain that return aliases, mapping and numbers of shards of indices. */
export const INDEX_LOOKUPS = ['_alias/fhir-*', 'fhir-*/_alias', 'fhir-*/_mapping', 'fhir-*/_settings/index.number_of_shards']

export const allow = (
  actions: string[],
  resources: string[],
  conditions?: Record<string, Record<string, string | string[]>>,
): PolicyStatement => new PolicyStatement({ actions, resources, ...(conditions === undefined ? {} : { conditions }) })

/** Permits actions on items of the state table. `leading`: partition keys, or patterns with `*`. */
export const allowOnState = (aws: AwsResources, actions: string[], ...leading: readonly string[]): PortAccess => ({
  environment: { FHIR_STATE_TABLE: aws.stateTable.tableName },
  statements: [
    allow(actions, [aws.stateTable.tableArn], {
      [leading.some((key) => key.includes('*')) ? 'ForAllValues:StringLike' : 'ForAllValues:StringEquals']: {
        'dynamodb:LeadingKeys': [...leading],
      },
    }),
    allowDecryption(aws),
    ...(actions.some((action) => !READ_ITEM_ACTIONS.includes(action)) ? [allowEncryption(aws)] : []),
  ],
})

/** Permits decryption through tables and bucket on behalf of a function. The function itself cannot use the key. */
export const allowDecryption = (aws: AwsResources) => allow(['kms:Decrypt', 'kms:DescribeKey'], [aws.key.keyArn], viaServices(aws))
export const allowEncryption = (aws: AwsResources) =>
  allow(['kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'], [aws.key.keyArn], viaServices(aws))

const viaServices = ({ resourceTable }: AwsResources) => {
  const { region } = Stack.of(resourceTable)
  return { StringEquals: { 'kms:ViaService': [`dynamodb.${region}.amazonaws.com`, `s3.${region}.amazonaws.com`] } }
}
