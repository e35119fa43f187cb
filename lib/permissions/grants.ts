/** Environment variables and permissions of each port. A function gets only those of its ports (lambdas/functions/functions.ts). */
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { PortName } from '../../lambdas/functions/functions.ts'
import { DEFINITION_TYPES } from '../../lambdas/ports/definitions/canonicals.ts'
import { PASS_ROWS } from '../../lambdas/ports/rows/pass.ts'
import { formatIndexShards } from '../../lambdas/runtime/index-shards.ts'
import { INDEX_NAME } from '../resource-table.ts'
import { DEFAULT_REPLICAS } from '../settings/domain-sizes.ts'
import { AUDIT_GRANTS } from './audit-grants.ts'
import { EXPORT_GRANTS } from './export-grants.ts'
import { DEFINITION_OVERFLOW_PATTERNS, OVERFLOW_PATTERNS, PERSON_OVERFLOW_PATTERNS, PERSONS } from './overflow-objects.ts'
import {
  type AwsResources,
  allow,
  allowDecryption,
  allowEncryption,
  allowOnState,
  INDEX_LOOKUPS,
  type PortAccess,
  type PortGrant,
  READ_ITEM_ACTIONS,
} from './permissions.ts'
import { onSearch, REFRESH } from './search-statements.ts'
import { allowOnSigningKeys, allowSigningKeyMaintenance } from './signing-key-statements.ts'

const WRITE_ITEMS = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:ConditionCheckItem',
  'dynamodb:BatchWriteItem',
]

const ADDED_PACKAGES = 'packages/*'
/** Keys of stored queries and token lists, which search links refer to. */
const SEARCHES = ['queries/*', 'tokens/*']

/** Partition keys of the resource table, or their patterns. Each is defined in lambdas/adapters/dynamodb/table-keys.ts. */
const TRANSACTIONS = '*#TXN#*'
const TYPES = '*#CFG'
const CANONICALS = '*#CANONICAL#*'
const IDENTIFIERS = '*#IDENTIFIER#*'
const HEARTBEATS = '#PULSE*'
const INDEX_LAG = '#LAG'

/** Partition keys of the state table, or their patterns. Each is defined in lambdas/adapters/dynamodb. */
const SEAL = 'SEAL'
const DEFINITIONS = 'DEFINITIONS'
const TENANT_DEFINITIONS = 'DEFINITIONS#*'
const HEARTBEAT_STATE = 'PULSE'
const HEARTBEAT_ROWS = 'PULSE_*'
const REBUILD_ROWS = 'REBUILD_*'
const AUDIT = 'AUDIT#*'
const TRANSFERS = 'USAGE#*'
const SIGNING_KEYS = 'SIGNING_KEYS'
const REVOCATIONS = 'REVOKED#*'
const ADOPTED = 'ADOPTED'
const CLIENTS = 'CLIENTS'
const USERS = 'USERS'
const GRANTED = 'GRANT#*'
const GUESSES = 'GRANT#guesses#*'
const OWNED = 'OWNED#*'
/** Actions that write grants and the lists of their owners. */
const GRANT_WRITES = ['dynamodb:PutItem', 'dynamodb:DeleteItem']

/** Parts of a table that a restore omits: stream and protection, expiry, recovery. */
const TABLE_PARTS = ['Table', 'TimeToLive', 'ContinuousBackups']

const GRANTS: Readonly<Record<PortName, PortGrant>> = {
  ...{ ...EXPORT_GRANTS, ...AUDIT_GRANTS },
  // The bundle of the function contains the definitions of this port.
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
      onObjects(aws, ['s3:GetObject'], OVERFLOW_PATTERNS),
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
  canonicals: rowAdditions(CANONICALS),
  identifiers: rowAdditions(IDENTIFIERS),
  writer: (aws) => ({
    environment: { ...resources(aws), ...blobs(aws), FHIR_INDEX_SHARDS: formatIndexShards(aws.indexShards) },
    statements: [
      onTable(aws, WRITE_ITEMS),
      onObjects(aws, ['s3:PutObject', 's3:DeleteObject'], OVERFLOW_PATTERNS),
      allowDecryption(aws),
      allowEncryption(aws),
    ],
  }),
  settler: (aws) => ({
    environment: { ...resources(aws), ...blobs(aws) },
    statements: [
      onTable(aws, [...READ_ITEM_ACTIONS, ...WRITE_ITEMS]),
      onIndex(aws),
      // Each body names its version, which the sweep of unused bodies looks up.
      onObjects(aws, ['s3:GetObject', 's3:DeleteObject'], OVERFLOW_PATTERNS),
      onBucket(aws),
      allowDecryption(aws),
      allowEncryption(aws),
    ],
  }),
  passes: (aws) => allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], PASS_ROWS),
  index: (aws) => ({
    environment: search(aws),
    statements: onSearch(aws, { Post: ['fhir-*/_search', '_msearch', '_mget', ...REFRESH] }),
  }),
  'conditional-searches': ({ conditionalVersions }) => ({
    environment: { FHIR_CONDITIONAL_VERSIONS: String(conditionalVersions) },
    statements: [],
  }),
  documents: (aws) => ({
    environment: { ...search(aws), ...indexCopies(aws), ...blobs(aws) },
    statements: [
      ...onSearch(aws, { Post: ['_bulk', '_mget'], Get: [...INDEX_LOOKUPS, 'fhir-*/_stats/store'], Put: ['fhir-*'] }),
      onObjects(aws, ['s3:GetObject'], OVERFLOW_PATTERNS),
      onBucket(aws),
      allowDecryption(aws),
    ],
  }),
  rebuilding: (aws) =>
    merge(allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query', 'dynamodb:BatchWriteItem'], REBUILD_ROWS), {
      environment: { ...search(aws), ...indexCopies(aws) },
      statements: onSearch(aws, {
        Post: ['_bulk', '_mget', '_aliases', 'fhir-*/_search', ...REFRESH],
        Get: [...INDEX_LOOKUPS, '_cluster/health/fhir-*'],
        Put: ['fhir-*'],
        Delete: ['fhir-*'],
      }),
    }),
  blobs: (aws) => ({
    environment: blobs(aws),
    statements: [onObjects(aws, ['s3:GetObject', 's3:PutObject'], SEARCHES), onBucket(aws), allowDecryption(aws), allowEncryption(aws)],
  }),
  progress: (aws) => indexState(aws),
  conditions: (aws) => indexState(aws),
  definitions: (aws) =>
    merge(
      indexState(aws, 'dynamodb:Query'),
      // A transaction changes the state and rows of tenants. One statement for both permits it, whatever keys IAM sees of the other items.
      allowOnState(aws, ['dynamodb:PutItem', 'dynamodb:DeleteItem'], DEFINITIONS, TENANT_DEFINITIONS),
    ),
  heartbeats: (aws) =>
    merge(allowOnState(aws, ['dynamodb:GetItem'], HEARTBEAT_STATE), {
      environment: resources(aws),
      statements: [onTable(aws, ['dynamodb:GetItem'], [HEARTBEATS])],
    }),
  pulse: (aws) => {
    const changes = ['dynamodb:GetItem', 'dynamodb:PutItem']
    const state = merge(
      allowOnState(aws, changes, HEARTBEAT_STATE),
      allowOnState(aws, [...changes, 'dynamodb:Query', 'dynamodb:BatchWriteItem'], HEARTBEAT_ROWS),
    )
    const beats = [onTable(aws, ['dynamodb:BatchWriteItem'], [HEARTBEATS]), onIndex(aws, [HEARTBEATS])]
    const statements = [...beats, onTable(aws, ['dynamodb:PutItem'], [INDEX_LAG])]
    return merge(state, { environment: resources(aws), statements })
  },
  seal: (aws) => allowOnState(aws, ['dynamodb:GetItem'], SEAL),
  verification: (aws) =>
    merge(allowOnState(aws, ['dynamodb:BatchGetItem'], REVOCATIONS), allowOnState(aws, ['dynamodb:GetItem'], SIGNING_KEYS)),
  audit: (aws) => {
    const { environment, statements } = allowOnState(aws, ['dynamodb:PutItem', 'dynamodb:BatchWriteItem'], AUDIT, TRANSFERS)
    // The metric for audit records that could not be written names the stage.
    return { environment: { ...environment, FHIR_STAGE: aws.stage }, statements }
  },
  'published-keys': (aws) => allowOnState(aws, ['dynamodb:GetItem'], SIGNING_KEYS),
  revoking: (aws) => allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem'], REVOCATIONS),
  clients: (aws) => allowOnState(aws, ['dynamodb:GetItem'], CLIENTS),
  registrations: (aws) => allowOnState(aws, ['dynamodb:PutItem', 'dynamodb:DeleteItem'], CLIENTS),
  users: (aws) => allowOnState(aws, ['dynamodb:GetItem'], USERS),
  passwords: (aws) => allowOnState(aws, ['dynamodb:PutItem'], USERS),
  grants: (aws) =>
    merge(
      allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:BatchGetItem', ...GRANT_WRITES], GRANTED),
      allowOnState(aws, ['dynamodb:Query', ...GRANT_WRITES], OWNED),
    ),
  // The metric for partners that guess at members names the stage.
  guesses: (aws) =>
    merge(allowOnState(aws, ['dynamodb:GetItem', ...GRANT_WRITES], GUESSES), { environment: { FHIR_STAGE: aws.stage }, statements: [] }),
  signing: (aws) =>
    merge(allowOnState(aws, ['dynamodb:GetItem'], SIGNING_KEYS), { environment: {}, statements: [allowOnSigningKeys(aws, ['kms:Sign'])] }),
  keys: (aws) =>
    merge(allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], SIGNING_KEYS), {
      environment: { FHIR_STAGE: aws.stage },
      statements: allowSigningKeyMaintenance(aws),
    }),
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

export const accessOfPorts = (ports: readonly PortName[], aws: AwsResources): PortAccess => merge(...ports.map((port) => GRANTS[port](aws)))

const merge = (...all: readonly PortAccess[]): PortAccess => ({
  environment: Object.assign({}, ...all.map(({ environment }) => environment)),
  statements: all.flatMap(({ statements }) => statements),
})

/** Permits the creation of the key for seals. Only the migration creates it, if the stage has none. */
export const allowSealCreation = (aws: AwsResources): readonly PolicyStatement[] => allowOnState(aws, ['dynamodb:PutItem'], SEAL).statements

/** Permits the revocation of everything that was issued before a restored state table was adopted. */
export const allowTokenRevocation = (aws: AwsResources): readonly PolicyStatement[] => [
  ...allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], REVOCATIONS).statements,
  ...allowOnState(aws, ['dynamodb:GetItem', 'dynamodb:PutItem'], ADOPTED).statements,
]

/** Permits reading the stream of the resource table, and storing records that no function could process. */
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

/** Permits adding items to these partitions of the resource table. */
function rowAdditions(partitions: string): PortGrant {
  return (aws) => ({
    environment: resources(aws),
    statements: [onTable(aws, ['dynamodb:PutItem', 'dynamodb:BatchWriteItem'], [partitions]), allowEncryption(aws)],
  })
}

/** Permits reading the index state, and its rows of tenants by `more` actions too. */
const indexState = (aws: AwsResources, ...more: readonly string[]): PortAccess =>
  merge(allowOnState(aws, ['dynamodb:GetItem'], DEFINITIONS), allowOnState(aws, ['dynamodb:BatchGetItem', ...more], TENANT_DEFINITIONS))

const resources = ({ resourceTable }: AwsResources) => ({ FHIR_TABLE: resourceTable.tableName })
const blobs = ({ bucket }: AwsResources) => ({ FHIR_BUCKET: bucket.bucketName })
const search = ({ searchEndpoint, searchDomainArn }: AwsResources) => ({
  FHIR_SEARCH_ENDPOINT: searchEndpoint,
  FHIR_SEARCH_SIGNING: searchDomainArn === undefined ? 'none' : 'sigv4',
})

/** Shards and replicas of the indices that functions create. */
export const indexCopies = ({ searchCopies: { shards = {}, replicas = DEFAULT_REPLICAS } }: AwsResources) => ({
  ...(Object.keys(shards).length === 0 ? {} : { FHIR_SEARCH_SHARDS: formatIndexShards(shards) }),
  ...(replicas === DEFAULT_REPLICAS ? {} : { FHIR_SEARCH_REPLICAS: String(replicas) }),
})

/** Permits actions on items of the resource table. `partitions`: partition keys or their patterns; absent means all. */
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

/** Permits listing the bucket. Without it S3 reports a missing object as forbidden. A condition on prefixes would undo this effect. */
const onBucket = ({ bucket }: AwsResources) => allow(['s3:ListBucket'], [bucket.bucketArn])
