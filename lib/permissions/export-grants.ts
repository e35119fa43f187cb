/** Part of grants.ts: environment variables and permissions of the export ports. */
import { ArnFormat, Stack } from 'aws-cdk-lib'
import type { ExportPort } from '../../lambdas/functions/functions.ts'
import {
  type AwsResources,
  allow,
  allowDecryption,
  allowEncryption,
  allowOnState,
  type FileLinkOptions,
  type PortAccess,
  type PortGrant,
} from './permissions.ts'

/** Partition keys of the state table: jobs, running jobs of each client, and the rows of each job's writers. */
const JOBS = 'exports'
const CLIENTS = 'export-clients'
const ROWS = 'exports/*'
/** Partitions within ROWS that a kick-off writes: the named patients of a job. */
const PATIENTS = 'exports/*/patients'
/** Partition within ROWS that says when matches are deleted. */
const MATCHES = 'exports/matches'
/** Partition for the state of scheduled exports. */
const SCHEDULES = 'export-schedules'

/** Placeholder for functions that are created before the keys of the links. */
const NO_LINKS: FileLinkOptions = { origin: '', keyPairId: '', keyId: '' }

export const EXPORT_GRANTS: Readonly<Record<ExportPort, PortGrant>> = {
  jobs: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], JOBS, CLIENTS)
    const others = [
      allowOnState(aws, ['dynamodb:BatchWriteItem'], JOBS),
      allowOnState(aws, ['dynamodb:Query'], ROWS),
      allowOnState(aws, ['dynamodb:PutItem', 'dynamodb:GetItem'], PATIENTS),
    ]
    return { environment, statements: [...statements, ...others.flatMap((other) => other.statements)] }
  },
  'job-list': (aws) => allowOnState(aws, ['dynamodb:Query'], JOBS),
  'job-rows': (aws) => allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:BatchWriteItem'], JOBS, ROWS),
  schedules: (aws) => allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], SCHEDULES),
  'old-schedules': (aws) => allowOnState(aws, ['dynamodb:Query', 'dynamodb:BatchWriteItem'], SCHEDULES),
  copies: (aws) => ({
    environment: exportFiles(aws),
    statements: aws.exportTargets.flatMap(({ bucket, prefix, key }) => [
      allow(['s3:PutObject', 's3:AbortMultipartUpload'], [objectsOf(aws, `${bucket}/${prefix}*`)]),
      ...(key === undefined ? [] : [allow(['kms:GenerateDataKey', 'kms:Decrypt'], [key], viaS3(aws))]),
    ]),
  }),
  'export-files': (aws) => ({
    environment: exportFiles(aws),
    statements: [
      onExportFiles(aws, ['s3:GetObject', 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload']),
      allow(['s3:ListBucket', 's3:ListBucketMultipartUploads'], [aws.exportBucket.bucketArn]),
      allowDecryption(aws),
      allowEncryption(aws),
    ],
  }),
  'match-requests': (aws) => ({
    environment: exportFiles(aws),
    statements: [
      onObjects(aws, 'exports/*/request/*', ['s3:PutObject']),
      allowEncryption(aws),
      ...allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], MATCHES).statements,
    ],
  }),
  'removed-files': (aws) => ({ environment: exportFiles(aws), statements: [onExportFiles(aws, ['s3:DeleteObject'])] }),
  'start-exports': (aws) => onExports(aws, 'StartExecution'),
  'stop-exports': (aws) => onExports(aws, 'StopExecution'),
  'watch-exports': (aws) => onExports(aws, 'DescribeExecution'),
  'link-key': ({ linkKeys }) => ({ environment: {}, statements: [allow(['kms:GetPublicKey'], [...linkKeys])] }),
  links: ({ linkKeys, links: { origin, keyPairId, keyId } = NO_LINKS }) => ({
    environment: { FHIR_EXPORT_ORIGIN: origin, FHIR_LINK_KEY: keyId, FHIR_LINK_KEY_PAIR: keyPairId },
    statements: [allow(['kms:Sign'], linkKeys.slice(0, 1))],
  }),
}

const objectsOf = ({ stateTable }: AwsResources, resource: string): string =>
  Stack.of(stateTable).formatArn({ service: 's3', region: '', account: '', resource, arnFormat: ArnFormat.NO_RESOURCE_NAME })

const viaS3 = ({ stateTable }: AwsResources) => ({ StringEquals: { 'kms:ViaService': `s3.${Stack.of(stateTable).region}.amazonaws.com` } })

const exportFiles = ({ exportBucket }: AwsResources) => ({ FHIR_EXPORT_BUCKET: exportBucket.bucketName })
const onObjects = ({ exportBucket }: AwsResources, pattern: string, actions: string[]) =>
  allow(actions, [exportBucket.arnForObjects(pattern)])
const onExportFiles = (aws: AwsResources, actions: string[]) => onObjects(aws, 'exports/*', actions)

/** Permits starts on the state machine, and stops and descriptions on its executions. */
function onExports({ exportMachine }: AwsResources, action: 'StartExecution' | 'StopExecution' | 'DescribeExecution'): PortAccess {
  if (exportMachine === undefined) throw new Error('the state machine of exports is not there yet')
  const { stateMachineArn, stateMachineName } = exportMachine
  const executions = { service: 'states', resource: 'execution', resourceName: `${stateMachineName}:*` }
  const one = Stack.of(exportMachine).formatArn({ ...executions, arnFormat: ArnFormat.COLON_RESOURCE_NAME })
  return {
    environment: { FHIR_EXPORT_WORKFLOW: stateMachineArn },
    statements: [allow([`states:${action}`], [action === 'StartExecution' ? stateMachineArn : one])],
  }
}
