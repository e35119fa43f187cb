/** Accepted findings of cdk-nag, each with its location and reason. Any other finding fails a test. https://github.com/cdklabs/cdk-nag */
import { type CfnElement, Stack, Token, Validations } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'
import { type ExportTarget, targetOf } from '../settings/export-settings.ts'
import type { Settings } from '../settings/settings.ts'
import { ARCHIVED_RECORDS, DISCLOSURES_PREFIX } from './audit-grants.ts'
import { DEFINITION_OVERFLOW_PATTERNS, OVERFLOW_PATTERNS, PERSON_OVERFLOW_PATTERNS } from './overflow-objects.ts'
import { INDEX_LOOKUPS, type TableConstruct } from './permissions.ts'

type Accepted = {
  readonly rules: readonly string[]
  /** Pattern for the path of a construct below its stack. */
  readonly at: RegExp
  readonly reason: string
}

const NO_CONTENT = 'It would carry paths or queries, and with them ids and values of patients'
const OWN_AUTHORIZATION = 'Who asks is verified by the functions, as the standards of FHIR want it, or by signatures of AWS'

const IN_DATA: readonly Accepted[] = [
  {
    rules: ['HIPAA.Security-S3BucketReplicationEnabled'],
    at: /Bucket$/,
    reason: 'Versions are kept as long as the tables can be recovered; one region',
  },
  {
    rules: ['HIPAA.Security-S3DefaultEncryptionKMS'],
    at: /^LogsBucket$/,
    reason: 'Access logs can only be written with a key of S3; they carry no bodies',
  },
  {
    rules: ['AwsSolutions-OS3'],
    at: /^SearchDomain$/,
    reason: 'Addresses of functions are not known; the policy names their roles, and requests are signed',
  },
  {
    rules: ['AwsSolutions-OS4'],
    at: /^SearchDomain$/,
    reason: 'Three data nodes elect a master; the index can be made again from the table',
  },
  {
    rules: ['AwsSolutions-OS9[LogExport::INDEX_SLOW_LOGS]', 'AwsSolutions-OS9[LogExport::SEARCH_SLOW_LOGS]'],
    at: /^SearchDomain$/,
    reason: NO_CONTENT,
  },
  { rules: ['HIPAA.Security-OpenSearchErrorLogsToCloudWatch'], at: /^SearchDomain$/, reason: NO_CONTENT },
]

const WITHOUT_VPC: readonly Accepted[] = [
  {
    rules: ['AwsSolutions-OS1', 'HIPAA.Security-OpenSearchInVPCOnly'],
    at: /^SearchDomain$/,
    reason: 'Reached over TLS by signed requests of the functions only; in a VPC with the setting vpc',
  },
]

const WITH_VPC: readonly Accepted[] = [
  {
    rules: ['HIPAA.Security-VPCDefaultSecurityGroupClosed'],
    at: /^Network\/Vpc$/,
    reason: 'Nothing is in that group; closing it takes a function of its own',
  },
]

const DEMO: readonly Accepted[] = [
  { rules: ['AwsSolutions-OS7'], at: /^SearchDomain$/, reason: 'The demo size is one node; the production size is three in three zones' },
]

const IN_SERVICE: readonly Accepted[] = [
  {
    rules: ['HIPAA.Security-S3BucketVersioningEnabled', 'HIPAA.Security-S3BucketReplicationEnabled'],
    at: /^Exports\/Bucket/,
    reason: 'Copies of what the tables hold, for some days: what is removed is to be gone',
  },
  { rules: ['AwsSolutions-APIG2'], at: /^Api\/Api$/, reason: 'The functions validate; the gateway knows no FHIR' },
  { rules: ['AwsSolutions-COG4'], at: /^Api\/Api\//, reason: OWN_AUTHORIZATION },
  { rules: ['AwsSolutions-APIG4'], at: /\/OPTIONS$/, reason: 'Browsers ask without credentials; the answer tells nothing of what is kept' },
  {
    rules: ['AwsSolutions-APIG4'],
    at: /\/health\/(?:GET|HEAD)$/,
    reason: 'Load balancers have no credentials; the response contains only readiness and index lag',
  },
  { rules: ['AwsSolutions-APIG6', 'HIPAA.Security-APIGWExecutionLoggingEnabled'], at: /\/DeploymentStage\.fhir$/, reason: NO_CONTENT },
  { rules: ['HIPAA.Security-APIGWXrayEnabled'], at: /\/DeploymentStage\.fhir$/, reason: NO_CONTENT },
  { rules: ['AwsSolutions-SF2'], at: /^(?:Rebuild|Exporting)\/Machine$/, reason: 'Its history tells all that a trace would' },
  { rules: ['HIPAA.Security-APIGWCacheEnabledAndEncrypted'], at: /\/DeploymentStage\.fhir$/, reason: 'A cache would answer with what was' },
  {
    rules: ['HIPAA.Security-APIGWSSLEnabled'],
    at: /\/DeploymentStage\.fhir$/,
    reason: 'Functions are called by AWS itself and see no client certificate',
  },
  { rules: ['HIPAA.Security-WAFv2LoggingEnabled'], at: /^Firewall\/WebAcl$/, reason: NO_CONTENT },
  { rules: ['AwsSolutions-CFR1'], at: /^Front\/Distribution$/, reason: 'Where clients may be is not for the server to say' },
  { rules: ['AwsSolutions-CFR2'], at: /^Front\/Distribution$/, reason: 'The firewall stands at the API, in the region of everything else' },
  { rules: ['AwsSolutions-CFR3'], at: /^Front\/Distribution$/, reason: NO_CONTENT },
  {
    rules: ['AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]'],
    at: /\/CloudWatchRole$/,
    reason: 'The role the documentation of API Gateway asks for, one for the account',
  },
  {
    rules: ['AwsSolutions-IAM5[Resource::*]'],
    at: /^(?:Rebuild|Exporting)\/Machine\/Role\/DefaultPolicy$/,
    reason: 'Deliveries of logs have no resource to name',
  },
  {
    rules: ['HIPAA.Security-IAMNoInlinePolicy'],
    at: /Role(?:\/DefaultPolicy)?$/,
    reason: 'Each role has one policy, which is for it alone',
  },
  {
    rules: ['HIPAA.Security-LambdaConcurrency'],
    at: /\/Function$/,
    reason: 'A new account has nothing to reserve; the setting concurrency does, the API is throttled as a whole',
  },
  {
    rules: ['HIPAA.Security-LambdaDLQ'],
    at: /\/Function$/,
    reason: 'Called synchronously, by a stream that puts records aside, or by a schedule that calls again',
  },
]

const SERVICE_WITHOUT_VPC: readonly Accepted[] = [
  {
    rules: ['HIPAA.Security-LambdaInsideVPC'],
    at: /\/Function$/,
    reason: 'What they call is reached over TLS by signed requests; in a VPC with the setting vpc',
  },
]

const SERVICE_WITH_VPC: readonly Accepted[] = [
  {
    rules: ['AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]'],
    at: /Role$/,
    reason: 'Network interfaces are made before they have a name',
  },
]

const withTokens = (stack: Stack, stage: string): readonly Accepted[] => [
  { rules: ['AwsSolutions-APIG4'], at: /^Api\/Api\//, reason: OWN_AUTHORIZATION },
  {
    rules: ['AwsSolutions-SMG4', 'HIPAA.Security-SecretsManagerRotationEnabled'],
    at: /^Origin\/Secret\d+$/,
    reason: 'Both sides get it in a deployment; the setting originSecret makes another',
  },
  {
    rules: ['AwsSolutions-IAM5[Resource::*]', `AwsSolutions-IAM5[Resource::${anyKeyOf(stack)}]`],
    at: /^(?:Token|TendKeys)\/Role$/,
    reason: SIGNING_KEYS,
  },
  {
    rules: [`AwsSolutions-IAM5[Resource::${arnPrefix(stack, 'kms')}:alias/fhir-${stage}/signing/*]`],
    at: /^TendKeys\/Role$/,
    reason: 'The alias of a key that signs ends with the id of the key, which is made with it',
  },
]

const anyKeyOf = (stack: Stack): string => `${arnPrefix(stack, 'kms')}:key/*`

/** Returns the start of an ARN in the form of cdk-nag's findings. A value that only the deployment resolves appears as its name. */
function arnPrefix({ partition, region, account }: Stack, service: string): string {
  const each = (value: string, name: string) => (Token.isUnresolved(value) ? `<AWS::${name}>` : value)
  return `arn:${each(partition, 'Partition')}:${service}:${each(region, 'Region')}:${each(account, 'AccountId')}`
}

const SIGNING_KEYS = 'Keys that sign have no name before they are made: they are known by the tag of the stage'

const WITHOUT_NAME: readonly Accepted[] = [
  {
    rules: ['AwsSolutions-CFR4'],
    at: /^Front\/Distribution$/,
    reason: "CloudFront's own name comes with its own choice of TLS; the setting customDomain changes it",
  },
]

const IN_OPERATION: readonly Accepted[] = [
  {
    rules: ['service-role/AWSBackupServiceRolePolicyForBackup', 'AWSBackupServiceRolePolicyForS3Backup'].map(
      (name) => `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
    ),
    at: /^Backups\/Role$/,
    reason: 'The policies that AWS Backup requires; only AWS Backup assumes the role',
  },
]

export const suppressOperationStackFindings = (stack: Stack): void => accept(stack, IN_OPERATION)

export function suppressDataStackFindings(stack: Stack, { search, vpc }: Settings): void {
  accept(stack, [...IN_DATA, ...(vpc === undefined ? WITHOUT_VPC : WITH_VPC), ...('kind' in search && search.size === 'demo' ? DEMO : [])])
}

export function suppressServiceStackFindings(
  stack: Stack,
  data: Parents,
  { stage, access, vpc, customDomain, search, exports }: Settings,
): void {
  accept(stack, [
    ...IN_SERVICE,
    ...(access === 'token' ? withTokens(stack, stage) : []),
    ...(vpc === undefined ? SERVICE_WITHOUT_VPC : SERVICE_WITH_VPC),
    ...(customDomain === undefined ? WITHOUT_NAME : []),
    {
      rules: partsOf(data, search).map((part) => `AwsSolutions-IAM5[Resource::${part}]`),
      at: /Role$/,
      reason: 'A part of one resource, as small as it can be named',
    },
    {
      rules: [`AwsSolutions-IAM5[Resource::<${idIn(stack, 'Exports/Bucket')}.Arn>/exports/*]`],
      at: /^Export(?:Step|Sweep|Cancel)\/Role$/,
      reason: 'Each job has files of its own',
    },
    {
      rules: [`AwsSolutions-IAM5[Resource::<${idIn(stack, 'Exports/Bucket')}.Arn>/exports/*/request/*]`],
      at: /^MemberMatch\/Role$/,
      reason: 'Each match has a separate request',
    },
    {
      rules: exports.flatMap(targetOf).flatMap((target) => (target === undefined ? [] : [partOf(stack, target)])),
      at: /^ExportSweep\/Role$/,
      reason: 'Each run of a schedule has a folder of its own',
    },
    {
      rules: [`AwsSolutions-IAM5[Resource::${executionsOf(stack)}]`],
      at: /^Export(?:Sweep|Cancel)\/Role$/,
      reason: 'Executions of one state machine, which have no names before they are begun',
    },
  ])
}

/** Returns the logical id of a construct in the template. `path`: location below the stack. */
const idIn = (stack: Stack, path: string): string =>
  stack.getLogicalId(path.split('/').reduce<IConstruct>((at, id) => at.node.findChild(id), stack).node.defaultChild as CfnElement)

const executionsOf = (stack: Stack): string => `${arnPrefix(stack, 'states')}:execution:<${idIn(stack, 'Exporting/Machine')}.Name>:*`

const partOf = ({ partition }: Stack, { bucket, prefix }: ExportTarget): string =>
  `AwsSolutions-IAM5[Resource::arn:${Token.isUnresolved(partition) ? '<AWS::Partition>' : partition}:s3:::${bucket}/${prefix}*]`

/** Resources that contain the parts to which functions have access. */
type Parents = {
  readonly bucket: IConstruct
  readonly resourceTable: TableConstruct
  readonly stateTable: TableConstruct
  readonly auditBucket?: IConstruct
  readonly domain?: IConstruct
}

/** Returns the parts that functions may access: keys in the bucket, indices of the domain, streams of the tables. */
function partsOf({ bucket, auditBucket, domain, resourceTable, stateTable }: Parents, search: Settings['search']): readonly string[] {
  const arnOf = (construct: IConstruct) => `<${Stack.of(construct).getLogicalId(construct.node.defaultChild as CfnElement)}.Arn>`
  const tableArnOf = (table: TableConstruct) =>
    table.node.defaultChild === undefined ? `${arnPrefix(Stack.of(table), 'dynamodb')}:table/${table.tableName}` : arnOf(table)
  const below = (arn: string, parts: readonly string[]) => parts.map((part) => `${arn}/${part}`)
  const domainArn = domain === undefined ? ('domainArn' in search ? search.domainArn : undefined) : arnOf(domain)
  return [
    ...below(arnOf(bucket), [
      'aws/lambda/*',
      ...OVERFLOW_PATTERNS,
      ...DEFINITION_OVERFLOW_PATTERNS,
      ...PERSON_OVERFLOW_PATTERNS,
      `${DISCLOSURES_PREFIX}*`,
      'packages/*',
      'queries/*',
      'tokens/*',
    ]),
    ...below(tableArnOf(resourceTable), ['stream/*']),
    ...(auditBucket === undefined
      ? []
      : [...below(arnOf(auditBucket), [ARCHIVED_RECORDS, `${DISCLOSURES_PREFIX}*`]), ...below(tableArnOf(stateTable), ['stream/*'])]),
    ...(domainArn === undefined
      ? []
      : below(domainArn, [
          ...INDEX_LOOKUPS,
          ...['fhir-*/_stats/store', 'fhir-*/_refresh', 'fhir-*/_search', 'fhir-*/_search_shards', 'fhir-*', '_cluster/health/fhir-*'],
        ])),
  ]
}

function accept(stack: Stack, accepted: readonly Accepted[]): void {
  for (const construct of stack.node.findAll()) {
    const path = construct.node.path.slice(stack.node.path.length + 1)
    for (const { rules, at, reason } of accepted) {
      if (at.test(path)) Validations.of(construct).acknowledge(...rules.map((id) => ({ id, reason })))
    }
  }
}
