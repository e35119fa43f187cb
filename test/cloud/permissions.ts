/**
 * What a recorded call needs to be allowed, as IAM names it, with what the services then do on behalf of the caller.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
 */
import { ARNS, type IamContext, isAllowed, type IamCall as Needed, type Statement, statementsOf, type Template } from '../infra/iam.ts'
import { LAKE_SCHEDULE } from './assembly.ts'
import type { Tree } from './aws-calls.ts'
import type { RecordedCall } from './recorder.ts'

export type Need = Needed & { readonly functionName: string }

export function needsOf(calls: readonly RecordedCall[]): readonly Need[] {
  const tags = keyTags(calls)
  return calls.flatMap((call) => BY_SERVICE[call.service](call, tags).map((need) => ({ functionName: call.caller, ...need })))
}

/** Of keys of KMS, by their ids: what they were made with. One that was not made in these calls carries none. */
type Tags = ReadonlyMap<string, IamContext>

const BY_SERVICE: Readonly<Record<RecordedCall['service'], (call: RecordedCall, tags: Tags) => readonly Needed[]>> = {
  dynamodb: ({ operation, input }) => {
    if (operation === 'DescribeStream') return [{ action: 'dynamodb:DescribeStream', resource: `${ARNS.ResourceTable}/stream/1` }]
    const needs = itemCalls(operation, input)
    return [...needs, ...needs.flatMap(({ action }) => onBehalf('dynamodb', action !== 'dynamodb:GetItem' && isWrite(action)))]
  },
  s3: ({ operation, path, source, status }) => {
    const [, bucket = '', key] = /^\/([^/]+)(?:\/(.+)?)?$/.exec(path) ?? []
    if (bucket === LAKE_SCHEDULE.bucket) return intoLake(`${bucket}/${key}`, source)
    const arn = arnOf(bucket)
    if (operation === 'ListUploads') return [{ action: 's3:ListBucketMultipartUploads', resource: arn }]
    if (key === undefined) return [{ action: 's3:ListBucket', resource: arn }]
    // One that is not there is only told to those who may list.
    const missing = status === 404 ? [{ action: 's3:ListBucket', resource: arn }] : []
    const needs = [{ action: `s3:${OBJECTS[operation]}`, resource: `${arn}/${decodeURIComponent(key)}` }, ...missing]
    return operation === 'DELETE' || operation === 'AbortUpload' ? needs : [...needs, ...onBehalf('s3', operation === 'PUT')]
  },
  states: ({ operation, input }) => [{ action: `states:${operation}`, resource: machineOrExecution(input) }],
  kms: (call, tags) => keyCalls(call, tags),
  es: ({ operation, path }) => [
    { action: `es:ESHttp${operation[0]}${operation.slice(1).toLowerCase()}`, resource: ARNS.SearchDomain + decodeURIComponent(path) },
  ],
}

/** A bucket of somebody else is encrypted with no key of the stacks. */
function intoLake(object: string, source: string | undefined): readonly Needed[] {
  const [from = '', ...key] = source?.split('/') ?? []
  const read = { action: 's3:GetObject', resource: `${source && arnOf(from)}/${key.join('/')}` }
  return [{ action: 's3:PutObject', resource: `arn:aws:s3:::${object}` }, ...(source === undefined ? [] : [read, ...onBehalf('s3', false)])]
}

function machineOrExecution({ stateMachineArn, executionArn }: Tree): string {
  if (executionArn === undefined) return arnOf(stateMachineArn)
  const name = executionArn.split(':').at(-1)
  return `${arnOf(executionArn).replace(':stateMachine:', ':execution:')}:${name}`
}

/** Functions of links: they know one key, which the stack made. */
const LINK_FUNCTIONS = ['export-status', 'link-key']

function keyCalls({ caller, operation, input, output }: RecordedCall, tags: Tags): readonly Needed[] {
  const action = `kms:${operation}`
  if (LINK_FUNCTIONS.includes(caller)) return [{ action, resource: ARNS.ExportsLinkKey1 }]
  if (operation === 'ListAliases') return [{ action, resource: '*' }]
  if (operation === 'CreateAlias')
    return [
      { action, resource: `arn:aws:kms:us-east-1:000000000000:${input.AliasName}` },
      { action, resource: keyArn(input.TargetKeyId), context: tags.get(input.TargetKeyId) ?? {} },
    ]
  if (operation === 'CreateKey') {
    const context = newKeyContext(input)
    return [
      { action, resource: '*', context },
      { action: 'kms:TagResource', resource: keyArn(output.KeyMetadata.KeyId), context },
    ]
  }
  return [{ action, resource: keyArn(input.KeyId), context: tags.get(input.KeyId) ?? {} }]
}

const keyArn = (id: string): string => `arn:aws:kms:us-east-1:000000000000:key/${id}`

/** https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html */
const newKeyContext = ({ KeySpec, KeyUsage, Tags }: Tree): IamContext => ({
  'kms:KeySpec': KeySpec,
  'kms:KeyUsage': KeyUsage,
  ...tagContext('RequestTag', Tags),
})

const tagContext = (key: string, tags: readonly Tree[]): IamContext =>
  Object.fromEntries(tags.map(({ TagKey, TagValue }) => [`aws:${key}/${TagKey}`, TagValue]))

const keyTags = (calls: readonly RecordedCall[]): Tags =>
  new Map(
    calls
      .filter(({ service, operation }) => service === 'kms' && operation === 'CreateKey')
      .map(({ input, output }) => [output.KeyMetadata.KeyId, tagContext('ResourceTag', input.Tags)]),
  )

const OBJECTS: Readonly<Record<string, string>> = {
  ...{ GET: 'GetObject', HEAD: 'GetObject', PUT: 'PutObject', DELETE: 'DeleteObject' },
  AbortUpload: 'AbortMultipartUpload',
}

const isWrite = (action: string): boolean => /:(?:Put|Update|Delete|BatchWrite)/.test(action)

/** The names of deployed things hold those of the template. */
function arnOf(name: string): string {
  const stem = Object.keys(ARNS).find((each) => name.toLowerCase().includes(each.toLowerCase()))
  if (stem === undefined) throw new Error(`not one of the stacks' things: ${name}`)
  return ARNS[stem as keyof typeof ARNS]
}

/** What is encrypted with the key of the stacks is decrypted for the caller, and what is written is encrypted. */
function onBehalf(service: string, isWriting: boolean): readonly Needed[] {
  const context = { 'kms:ViaService': `${service}.us-east-1.amazonaws.com` }
  const actions = isWriting ? ['kms:Decrypt', 'kms:GenerateDataKey'] : ['kms:Decrypt']
  return actions.map((action) => ({ action, resource: ARNS.Key, context }))
}

const leading = (keys: readonly string[]): IamContext => ({ 'dynamodb:LeadingKeys': [...new Set(keys)] })

const PARTS: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
}

/** A transaction needs what its parts would need alone. */
function itemCalls(operation: string, input: Tree): readonly Needed[] {
  const one = (name: string, { TableName, IndexName }: Tree, keys: readonly string[]): Needed => ({
    action: `dynamodb:${name}`,
    resource: arnOf(TableName) + (IndexName === undefined ? '' : `/index/${IndexName}`),
    context: leading(keys),
  })
  switch (operation) {
    case 'TransactWriteItems':
      return input.TransactItems.map((part: Tree) => {
        const [kind, change] = Object.entries<Tree>(part)[0]!
        return one(PARTS[kind]!, change, [(change.Item ?? change.Key).pk.S])
      })
    case 'BatchGetItem':
      return Object.entries<Tree>(input.RequestItems).map(([TableName, { Keys }]) =>
        one(
          operation,
          { TableName },
          Keys.map(({ pk }: Tree) => pk.S),
        ),
      )
    case 'BatchWriteItem':
      return Object.entries<Tree>(input.RequestItems).map(([TableName, requests]) =>
        one(
          operation,
          { TableName },
          requests.map(({ PutRequest, DeleteRequest }: Tree) => (PutRequest?.Item ?? DeleteRequest.Key).pk.S),
        ),
      )
    case 'Query':
      return [
        one(
          operation,
          input,
          Object.values<Tree>(input.ExpressionAttributeValues)
            .slice(0, 1)
            .map(({ S }) => S ?? ''),
        ),
      ]
    default:
      return [one(operation, input, [(input.Item ?? input.Key).pk.S])]
  }
}

/** What the role of a function allows, `action resource partition`, and whether one of its calls needed it. */
export function permissionsOf(template: Template, functionName: string, needs: readonly Need[]) {
  const own = needs.filter((need) => need.functionName === functionName)
  return statementsOf(template, functionName)
    .flatMap(partsOf)
    .map(({ name, statement }) => ({ permission: name, isUsed: own.some((need) => isAllowed([statement], need)) }))
}

type Part = { readonly name: string; readonly statement: Statement }

/** A permission for each action, resource and partition of the table. */
function partsOf(statement: Statement): readonly Part[] {
  const { Action, Resource, Condition = {} } = statement as Tree
  const [operator, keys] = Object.entries<Tree>(Condition).find(([, each]) => each[LEADING] !== undefined) ?? []
  const each: readonly (string | undefined)[] = keys === undefined ? [undefined] : [keys[LEADING]].flat()
  return [Action].flat().flatMap((action: string) =>
    [Resource].flat().flatMap((resource: string) =>
      each.map((key) => ({
        name: [action, resource.replace('arn:aws:', ''), key].join(' ').trim(),
        statement: {
          ...{ ...statement, Action: action, Resource: resource },
          ...(operator === undefined ? {} : { Condition: { ...Condition, [operator]: { ...keys, [LEADING]: [key] } } }),
        },
      })),
    ),
  )
}

const LEADING = 'dynamodb:LeadingKeys'

/** The same without what differs from request to request: ids of resources, keys of objects. */
export function shapeOf({ functionName, action, resource, context = {} }: Need): string {
  const location = resource
    .replace(/^arn:aws:/, '')
    .replace(/((?:bodies|overflow|queries|tokens|exports|into-lake)\/).*/, '$1…')
    .replace(/(:execution:\w+:).*/, '$1…')
    .replace(/(:key\/)[\da-f-]{36}/, '$1…')
  const keys = Object.values(context).flatMap((values) =>
    [values].flat().map((value) => value.replace(/#.*/, '#…').replace(/^exports\/.*/, 'exports/…')),
  )
  return `${functionName}: ${action} on ${location} ${[...new Set(keys)].sort().join(' ')}`
}
