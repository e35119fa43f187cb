/**
 * What each port stands on: the environment variables that name it, and the permissions it takes. A function gets those of its ports
 * (lambdas/functions/functions.ts), and nothing else.
 */
import { Stack } from 'aws-cdk-lib'
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import type { PortName } from '../lambdas/functions/functions.ts'
import { INDEX } from './resource-table.ts'

export type Grounds = {
  readonly key: IKey
  readonly resourceTable: TableV2
  readonly stateTable: TableV2
  readonly bucket: IBucket
  readonly searchEndpoint: string
  /** Absent: requests to OpenSearch are not signed, and nobody looks at permissions. */
  readonly searchDomainArn?: string
  /** ARN of the state machine; absent where it is not there yet. */
  readonly rebuildWorkflow?: string
}

export type Granted = { readonly environment: Readonly<Record<string, string>>; readonly statements: readonly PolicyStatement[] }

type Grant = (grounds: Grounds) => Granted

const READ_ITEMS = ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query']
const WRITE_ITEMS = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:ConditionCheckItem',
  'dynamodb:BatchWriteItem',
]

const OVERFLOW = 'overflow/*'
/** Where pages of searches and lists of tokens are kept. */
const SEARCHES = ['queries/*', 'tokens/*']

/** What the secret of cursors and tokens, and the state of definitions, are called in the table of state. */
const SEAL = 'SEAL'
const DEFINITIONS = 'DEFINITIONS'
const AUDIT = 'AUDIT#*'

const GRANTS: Readonly<Record<PortName, Grant>> = {
  resources: (grounds) => ({
    environment: { ...resources(grounds), ...blobs(grounds) },
    statements: [
      onTable(grounds, READ_ITEMS),
      onIndex(grounds),
      onObjects(grounds, ['s3:GetObject'], [OVERFLOW]),
      onBucket(grounds),
      decrypts(grounds),
    ],
  }),
  writer: (grounds) => ({
    environment: { ...resources(grounds), ...blobs(grounds) },
    statements: [
      onTable(grounds, WRITE_ITEMS),
      onObjects(grounds, ['s3:PutObject', 's3:DeleteObject'], [OVERFLOW]),
      decrypts(grounds),
      encrypts(grounds),
    ],
  }),
  settler: (grounds) => ({
    environment: { ...resources(grounds), ...blobs(grounds) },
    statements: [
      onTable(grounds, [...READ_ITEMS, ...WRITE_ITEMS]),
      onIndex(grounds),
      onObjects(grounds, ['s3:DeleteObject'], [OVERFLOW]),
      onBucket(grounds),
      decrypts(grounds),
      encrypts(grounds),
    ],
  }),
  index: (grounds) => ({
    environment: search(grounds),
    statements: onSearch(grounds, { Post: ['fhir-*/_search', '_msearch', '_mget', 'fhir-*/_refresh'] }),
  }),
  documents: (grounds) => ({
    environment: { ...search(grounds), ...blobs(grounds) },
    statements: [
      ...onSearch(grounds, { Post: ['_bulk'], Get: ['_alias/fhir-*'], Put: ['fhir-*'] }),
      onObjects(grounds, ['s3:GetObject'], [OVERFLOW]),
      onBucket(grounds),
      decrypts(grounds),
    ],
  }),
  rebuilding: (grounds) => ({
    environment: search(grounds),
    statements: onSearch(grounds, {
      Post: ['_bulk', '_aliases', 'fhir-*/_refresh'],
      Get: ['_alias/fhir-*'],
      Put: ['fhir-*'],
      Delete: ['fhir-*'],
    }),
  }),
  blobs: (grounds) => ({
    environment: blobs(grounds),
    statements: [onObjects(grounds, ['s3:GetObject', 's3:PutObject'], SEARCHES), onBucket(grounds), decrypts(grounds), encrypts(grounds)],
  }),
  progress: (grounds) => onState(grounds, ['dynamodb:GetItem'], DEFINITIONS),
  definitions: (grounds) => onState(grounds, ['dynamodb:GetItem', 'dynamodb:PutItem'], DEFINITIONS),
  seal: (grounds) => onState(grounds, ['dynamodb:GetItem'], SEAL),
  audit: (grounds) => onState(grounds, ['dynamodb:PutItem', 'dynamodb:BatchWriteItem'], AUDIT),
  workflow: ({ rebuildWorkflow = '' }) => ({
    environment: { FHIR_REBUILD_WORKFLOW: rebuildWorkflow },
    statements: [allow(['states:StartExecution'], [rebuildWorkflow])],
  }),
}

export function granted(ports: readonly PortName[], grounds: Grounds): Granted {
  const all = ports.map((port) => GRANTS[port](grounds))
  return {
    environment: Object.assign({}, ...all.map(({ environment }) => environment)),
    statements: all.flatMap(({ statements }) => statements),
  }
}

/** The function that makes the key of seals: once, and for all. */
export const makesSeal = (grounds: Grounds): readonly PolicyStatement[] => onState(grounds, ['dynamodb:PutItem'], SEAL).statements

/** The stream of the table, and the place for what no function could take. */
export const follows = (grounds: Grounds): readonly PolicyStatement[] => {
  const { resourceTable } = grounds
  const read = ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator']
  return [
    allow(read, [resourceTable.tableStreamArn!]),
    allow(['dynamodb:ListStreams'], [`${resourceTable.tableArn}/stream/*`]),
    onObjects(grounds, ['s3:PutObject'], ['aws/lambda/*']),
    onBucket(grounds),
    decrypts(grounds),
    encrypts(grounds),
  ]
}

export const allow = (
  actions: string[],
  resources: string[],
  conditions?: Record<string, Record<string, string | string[]>>,
): PolicyStatement => new PolicyStatement({ actions, resources, ...(conditions === undefined ? {} : { conditions }) })

const resources = ({ resourceTable }: Grounds) => ({ FHIR_TABLE: resourceTable.tableName })
const blobs = ({ bucket }: Grounds) => ({ FHIR_BUCKET: bucket.bucketName })
const search = ({ searchEndpoint, searchDomainArn }: Grounds) => ({
  FHIR_SEARCH_ENDPOINT: searchEndpoint,
  FHIR_SEARCH_SIGNING: searchDomainArn === undefined ? 'none' : 'sigv4',
})

const onTable = ({ resourceTable }: Grounds, actions: string[]) => allow(actions, [resourceTable.tableArn])
const onIndex = ({ resourceTable }: Grounds) => allow(['dynamodb:Query'], [`${resourceTable.tableArn}/index/${INDEX}`])
const onObjects = ({ bucket }: Grounds, actions: string[], prefixes: readonly string[]) =>
  allow(
    actions,
    prefixes.map((prefix) => bucket.arnForObjects(prefix)),
  )

/** Without it an object that is missing would be forbidden instead of not found. A condition on prefixes does not go with that. */
const onBucket = ({ bucket }: Grounds) => allow(['s3:ListBucket'], [bucket.bucketArn])

/** Items of the table of state whose partition key is, or begins with, this. */
const onState = (grounds: Grounds, actions: string[], leading: string): Granted => ({
  environment: { FHIR_STATE_TABLE: grounds.stateTable.tableName },
  statements: [
    allow(actions, [grounds.stateTable.tableArn], {
      [leading.endsWith('*') ? 'ForAllValues:StringLike' : 'ForAllValues:StringEquals']: { 'dynamodb:LeadingKeys': [leading] },
    }),
    decrypts(grounds),
    ...(actions.some((action) => action !== 'dynamodb:GetItem') ? [encrypts(grounds)] : []),
  ],
})

type Method = 'Get' | 'Post' | 'Put' | 'Delete'

/** Paths below the domain. What a bulk request or a search of several says in its body no permission sees. */
const onSearch = ({ searchDomainArn }: Grounds, paths: Readonly<Partial<Record<Method, readonly string[]>>>): readonly PolicyStatement[] =>
  searchDomainArn === undefined
    ? []
    : Object.entries(paths).map(([method, some]) =>
        allow(
          [`es:ESHttp${method}`],
          some.map((path) => `${searchDomainArn}/${path}`),
        ),
      )

/** The key is used by tables and bucket on behalf of a function, never by the function itself. */
const decrypts = (grounds: Grounds) => allow(['kms:Decrypt', 'kms:DescribeKey'], [grounds.key.keyArn], byServices(grounds))
const encrypts = (grounds: Grounds) =>
  allow(['kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'], [grounds.key.keyArn], byServices(grounds))

const byServices = ({ resourceTable }: Grounds) => {
  const { region } = Stack.of(resourceTable)
  return { StringEquals: { 'kms:ViaService': [`dynamodb.${region}.amazonaws.com`, `s3.${region}.amazonaws.com`] } }
}
