/**
 * What each port stands on: the environment variables that name it, and the permissions it takes. A function gets those of its ports
 * (lambdas/functions/functions.ts), and nothing else.
 */
import { Stack } from 'aws-cdk-lib'
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { PortName } from '../../lambdas/functions/functions.ts'
import { DEFINITION_TYPES } from '../../lambdas/ports/definitions/canonicals.ts'
import { INDEX_NAME } from '../resource-table.ts'
import { EXPORT_GRANTS } from './export-grants.ts'
import { DEFINITION_OVERFLOW_PATTERNS, OVERFLOW_PATTERN, PERSON_OVERFLOW_PATTERNS, PERSONS } from './overflow-objects.ts'
import {
  type AwsResources,
  allow,
  allowDecryption,
  allowEncryption,
  allowOnState,
  type PortAccess,
  type PortGrant,
  READ_ITEM_ACTIONS,
} from './permissions.ts'

const WRITE_ITEMS = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:ConditionCheckItem',
  'dynamodb:BatchWriteItem',
]

const ADDED_PACKAGES = 'packages/*'
/** Where pages of searches and lists of tokens are kept. */
const SEARCHES = ['queries/*', 'tokens/*']

/** What partitions of the table of resources are called: each is one of lambdas/adapters/dynamodb/table-keys.ts. */
const TRANSACTIONS = '*#TXN#*'
const TYPES = '*#CFG'
const CANONICALS = '*#CANONICAL#*'
const PULSE = '#PULSE#*'
const INDEX_LAG = '#LAG'

/** What partitions of the table of state are called, or begin with: each is one of lambdas/adapters/dynamodb. */
const SEAL = 'SEAL'
const DEFINITIONS = 'DEFINITIONS'
const PULSE_STATE = 'PULSE'
const AUDIT = 'AUDIT#*'
const SIGNING_KEYS = 'SIGNING_KEYS'
const REVOCATIONS = 'REVOKED#*'
const ADOPTED = 'ADOPTED'
const CLIENTS = 'CLIENTS'
const USERS = 'USERS'
const GRANTED = 'GRANT#*'
const OWNED = 'OWNED#*'
/** How each of both is written. */
const KEPT = ['dynamodb:PutItem', 'dynamodb:DeleteItem']

/** What a restore leaves behind: stream and protection, expiry, recovery. */
const TABLE_PARTS = ['Table', 'TimeToLive', 'ContinuousBackups']

/** What is done with signing keys besides making them and signing. */
const TENDED = ['kms:GetPublicKey', 'kms:ListResourceTags', 'kms:DescribeKey', 'kms:ScheduleKeyDeletion']

/** By which the keys of a stage are known in KMS. */
const STAGE_TAG = 'fhir-stage'

const GRANTS: Readonly<Record<PortName, PortGrant>> = {
  ...EXPORT_GRANTS,
  // Its files lie beside the code.
  conformance: () => ({ environment: {}, statements: [] }),
  packages: (aws) => ({
    environment: blobs(aws),
    statements: [onObjects(aws, ['s3:GetObject'], [ADDED_PACKAGES]), onBucket(aws), allowDecryption(aws)],
  }),
  resources: (aws) => ({
    environment: { ...resources(aws), ...blobs(aws) },
    statements: [
      onTable(aws, READ_ITEM_ACTIONS),
      onIndex(aws),
      onObjects(aws, ['s3:GetObject'], [OVERFLOW_PATTERN]),
      onBucket(aws),
      allowDecryption(aws),
    ],
  }),
  'own-definitions': (aws) => ({
    environment: { ...resources(aws), ...blobs(aws) },
    statements: [
      onTable(aws, ['dynamodb:GetItem'], [...DEFINITION_TYPES.map((type) => `*#${type}#*`), TRANSACTIONS]),
      onTable(aws, ['dynamodb:Query'], [TYPES, CANONICALS]),
      onObjects(aws, ['s3:GetObject'], DEFINITION_OVERFLOW_PATTERNS),
      onBucket(aws),
      allowDecryption(aws),
    ],
  }),
  persons: (aws) => ({
    environment: { ...resources(aws), ...blobs(aws) },
    statements: [
      onTable(aws, ['dynamodb:GetItem'], [...PERSONS.map((type) => `*#${type}#*`), TRANSACTIONS]),
      onObjects(aws, ['s3:GetObject'], PERSON_OVERFLOW_PATTERNS),
      onBucket(aws),
      allowDecryption(aws),
    ],
  }),
  canonicals: (aws) => ({
    environment: resources(aws),
    statements: [onTable(aws, ['dynamodb:PutItem', 'dynamodb:BatchWriteItem'], [CANONICALS]), allowEncryption(aws)],
  }),
  writer: (aws) => ({
    environment: { ...resources(aws), ...blobs(aws) },
    statements: [
      onTable(aws, WRITE_ITEMS),
      onObjects(aws, ['s3:PutObject', 's3:DeleteObject'], [OVERFLOW_PATTERN]),
      allowDecryption(aws),
      allowEncryption(aws),
    ],
  }),
  settler: (aws) => ({
    environment: { ...resources(aws), ...blobs(aws) },
    statements: [
      onTable(aws, [...READ_ITEM_ACTIONS, ...WRITE_ITEMS]),
      onIndex(aws),
      onObjects(aws, ['s3:DeleteObject'], [OVERFLOW_PATTERN]),
      onBucket(aws),
      allowDecryption(aws),
      allowEncryption(aws),
    ],
  }),
  index: (aws) => ({
    environment: search(aws),
    statements: onSearch(aws, { Post: ['fhir-*/_search', '_msearch', '_mget', 'fhir-*/_refresh'] }),
  }),
  documents: (aws) => ({
    environment: { ...search(aws), ...blobs(aws) },
    statements: [
      ...onSearch(aws, { Post: ['_bulk', '_mget'], Get: ['_alias/fhir-*', 'fhir-*/_alias', 'fhir-*/_mapping'], Put: ['fhir-*'] }),
      onObjects(aws, ['s3:GetObject'], [OVERFLOW_PATTERN]),
      onBucket(aws),
      allowDecryption(aws),
    ],
  }),
  rebuilding: (aws) => ({
    environment: search(aws),
    statements: onSearch(aws, {
      Post: ['_bulk', '_mget', '_aliases', 'fhir-*/_refresh'],
      Get: ['_alias/fhir-*', 'fhir-*/_alias', 'fhir-*/_mapping'],
      Put: ['fhir-*'],
      Delete: ['fhir-*'],
    }),
  }),
  blobs: (aws) => ({
    environment: blobs(aws),
    statements: [onObjects(aws, ['s3:GetObject', 's3:PutObject'], SEARCHES), onBucket(aws), allowDecryption(aws), allowEncryption(aws)],
  }),
  progress: (aws) => allowOnState(aws, ['dynamodb:GetItem'], DEFINITIONS),
  conditions: (aws) => allowOnState(aws, ['dynamodb:GetItem'], DEFINITIONS),
  definitions: (aws) => allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], DEFINITIONS),
  pulse: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], PULSE_STATE)
    const beats = [
      onTable(aws, ['dynamodb:BatchWriteItem'], [PULSE]),
      onIndex(aws, [PULSE]),
      onTable(aws, ['dynamodb:PutItem'], [INDEX_LAG]),
    ]
    return { environment: { ...environment, ...resources(aws) }, statements: [...statements, ...beats, allowEncryption(aws)] }
  },
  seal: (aws) => allowOnState(aws, ['dynamodb:GetItem'], SEAL),
  verification(aws) {
    const { environment, statements } = allowOnState(aws, ['dynamodb:BatchGetItem'], REVOCATIONS)
    return { environment, statements: [...statements, ...allowOnState(aws, ['dynamodb:GetItem'], SIGNING_KEYS).statements] }
  },
  audit: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:PutItem', 'dynamodb:BatchWriteItem'], AUDIT)
    // Records that are refused are told of by stage.
    return { environment: { ...environment, FHIR_STAGE: aws.stage }, statements }
  },
  'published-keys': (aws) => allowOnState(aws, ['dynamodb:GetItem'], SIGNING_KEYS),
  revoking: (aws) => allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem'], REVOCATIONS),
  clients: (aws) => allowOnState(aws, ['dynamodb:GetItem'], CLIENTS),
  users: (aws) => allowOnState(aws, ['dynamodb:GetItem'], USERS),
  passwords: (aws) => allowOnState(aws, ['dynamodb:PutItem'], USERS),
  grants: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:BatchGetItem', ...KEPT], GRANTED)
    return { environment, statements: [...statements, ...allowOnState(aws, ['dynamodb:Query', ...KEPT], OWNED).statements] }
  },
  signing: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:GetItem'], SIGNING_KEYS)
    return { environment, statements: [...statements, onSigningKeys(aws, ['kms:Sign'])] }
  },
  keys: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], SIGNING_KEYS)
    return {
      environment: { ...environment, FHIR_STAGE: aws.stage },
      statements: [...statements, onSigningKeys(aws, TENDED), allow(['kms:ListKeys'], ['*']), ...makesKeys(aws)],
    }
  },
  'restored-tables': (aws) => ({
    environment: {},
    statements: [
      allow(
        TABLE_PARTS.flatMap((part) => [`dynamodb:Describe${part}`, `dynamodb:Update${part}`]),
        aws.restoredTables.map(({ tableArn }) => tableArn),
      ),
      allowDecryption(aws),
    ],
  }),
  workflow: ({ rebuildWorkflow = '' }) => ({
    environment: { FHIR_REBUILD_WORKFLOW: rebuildWorkflow },
    statements: [allow(['states:StartExecution'], [rebuildWorkflow])],
  }),
}

export function accessOfPorts(ports: readonly PortName[], aws: AwsResources): PortAccess {
  const all = ports.map((port) => GRANTS[port](aws))
  return {
    environment: Object.assign({}, ...all.map(({ environment }) => environment)),
    statements: all.flatMap(({ statements }) => statements),
  }
}

/** The function that makes the key of seals: once, and for all. */
export const allowSealCreation = (aws: AwsResources): readonly PolicyStatement[] => allowOnState(aws, ['dynamodb:PutItem'], SEAL).statements

/** The function that ends what was issued before a table of state was adopted. */
export const allowTokenRevocation = (aws: AwsResources): readonly PolicyStatement[] => [
  ...allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], REVOCATIONS).statements,
  ...allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], ADOPTED).statements,
]

/** The stream of the table, and the place for what no function could take. */
export const allowStreamReading = (aws: AwsResources, streamArn: string): readonly PolicyStatement[] => {
  const { resourceTable } = aws
  const read = ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator']
  return [
    allow(read, [streamArn]),
    allow(['dynamodb:ListStreams'], [`${resourceTable.tableArn}/stream/*`]),
    onObjects(aws, ['s3:PutObject'], ['aws/lambda/*']),
    onBucket(aws),
    allowDecryption(aws),
    allowEncryption(aws),
  ]
}

const resources = ({ resourceTable }: AwsResources) => ({ FHIR_TABLE: resourceTable.tableName })
const blobs = ({ bucket }: AwsResources) => ({ FHIR_BUCKET: bucket.bucketName })
const search = ({ searchEndpoint, searchDomainArn }: AwsResources) => ({
  FHIR_SEARCH_ENDPOINT: searchEndpoint,
  FHIR_SEARCH_SIGNING: searchDomainArn === undefined ? 'none' : 'sigv4',
})

/** `partitions`: absent: all. */
const onTable = ({ resourceTable }: AwsResources, actions: string[], partitions?: string[]) =>
  allow(actions, [resourceTable.tableArn], leading(partitions))
const onIndex = ({ resourceTable }: AwsResources, partitions?: string[]) =>
  allow(['dynamodb:Query'], [`${resourceTable.tableArn}/index/${INDEX_NAME}`], leading(partitions))
const leading = (partitions: string[] | undefined) => partitions && { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': partitions } }
const onObjects = ({ bucket }: AwsResources, actions: string[], prefixes: readonly string[]) =>
  allow(
    actions,
    prefixes.map((prefix) => bucket.arnForObjects(prefix)),
  )

/** Without it an object that is missing would be forbidden instead of not found. A condition on prefixes does not go with that. */
const onBucket = ({ bucket }: AwsResources) => allow(['s3:ListBucket'], [bucket.bucketArn])

/** Nobody else's: they carry the tag of the stage. */
const onSigningKeys = (aws: AwsResources, actions: string[]): PolicyStatement =>
  allow(actions, [signingKeys(aws)], { StringEquals: { [`aws:ResourceTag/${STAGE_TAG}`]: aws.stage } })

const signingKeys = ({ stateTable }: AwsResources): string =>
  Stack.of(stateTable).formatArn({ service: 'kms', resource: 'key', resourceName: '*' })

/** With the tag of this stage; a key that carries another's is not given this one. https://docs.aws.amazon.com/kms/latest/developerguide/tag-permissions.html */
const makesKeys = (aws: AwsResources): readonly PolicyStatement[] => {
  const tagged = { StringEquals: { [`aws:RequestTag/${STAGE_TAG}`]: aws.stage } }
  const signing = { 'kms:KeySpec': 'RSA_2048', 'kms:KeyUsage': 'SIGN_VERIFY' }
  return [
    allow(['kms:CreateKey'], ['*'], { StringEquals: { ...tagged.StringEquals, ...signing } }),
    allow(['kms:TagResource'], [signingKeys(aws)], {
      ...tagged,
      StringEqualsIfExists: { ...signing, [`aws:ResourceTag/${STAGE_TAG}`]: aws.stage },
    }),
  ]
}

type Method = 'Get' | 'Post' | 'Put' | 'Delete'

/** Paths below the domain. What a bulk request or a search of several says in its body no permission sees. */
const onSearch = (
  { searchDomainArn }: AwsResources,
  paths: Readonly<Partial<Record<Method, readonly string[]>>>,
): readonly PolicyStatement[] =>
  searchDomainArn === undefined
    ? []
    : Object.entries(paths).map(([method, some]) =>
        allow(
          [`es:ESHttp${method}`],
          some.map((path) => `${searchDomainArn}/${path}`),
        ),
      )
