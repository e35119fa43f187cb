/**
 * The roles of the deployed functions allow each call that the functions made while test/api ran on them, and deny calls that they must never
 * make. The part `here` of run.ts recorded the calls.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { FUNCTIONS, type FunctionName, functionsOfStage, portsOfStage } from '../../lambdas/functions/functions.ts'
import { ARNS, isFunctionAllowed, type Template } from '../infra/iam.ts'
import type { DeploymentDescription } from './cloud.ts'
import { type Need, needsOf, permissionsOf, shapeOf } from './permissions.ts'
import type { RecordedCall } from './recorder.ts'
import { runOnCloud } from './requested-deployment.ts'

const file = process.env.FHIR_CLOUD_CALLS

const templateOf = ({ deployment }: DeploymentDescription): Template =>
  Object.values(deployment.templates).find(({ Resources }) =>
    Object.values(Resources as Template['Resources']).some(({ Type }) => Type === 'AWS::Lambda::Function'),
  )

/** Permissions that no recorded call used, as `action resource partition`. */
const NOT_SEEN: readonly RegExp[] = [
  // Lambda uses them for a function: its log, its stream, and discarded records.
  ...[/^logs:/, /\/stream\//, /\/aws\/lambda\/\*$/],
  // Encryption may need them, by its documentation.
  /^kms:(?:DescribeKey|Encrypt|ReEncryptFrom|ReEncryptTo) \S+:key\/Key$/,
  // The rollback of a large transaction that loses to another while it is written.
  /DeleteItem \S+:table\/ResourceTable$/,
  // Reads of a definition that a large transaction is about to replace, and of one larger than an item.
  ...[/^dynamodb:GetItem \S+ \*#TXN#\*$/, /^s3:GetObject \S+\/bodies\/\*\/(?:StructureDefinition|ValueSet|CodeSystem)\/\*$/],
  // The user of a token, at functions that read no other resource: no test sends them such a token.
  ...[/^dynamodb:GetItem \S+ \*#(?:Patient|RelatedPerson)#\*$/, /^s3:GetObject \S+\/bodies\/\*\/(?:Patient|RelatedPerson)\/\*$/],
  // Rows of identifiers that a rebuild, or the indexer during a deployment, adds. Writers put theirs by their own permission.
  /^dynamodb:(?:PutItem|BatchWriteItem) \S+ \*#IDENTIFIER#\*$/,
  // Rows of tenants in the index state, which only a stage with many custom parameters has.
  ...[/^dynamodb:\w+ \S+ DEFINITIONS#\*$/, /^dynamodb:DeleteItem \S+ DEFINITIONS$/],
  // The shards of an index, after a refresh that reached too few copies.
  /^es:ESHttpPost \S+\/fhir-\*\/_search_shards$/,
  // The lag of gsi1, which is stored only from a second on.
  /^dynamodb:PutItem \S+ #LAG$/,
  // The mapping of an index of an older release.
  /^es:ESHttpGet \S+\/fhir-\*\/_mapping$/,
  // Only files of more than a GiB are copied in parts.
  /^s3:AbortMultipartUpload s3:::lake\//,
  // Transfers to apps: no test sends a request with the token of a user that has a patient in context.
  /^dynamodb:(?:PutItem|BatchWriteItem) \S+ USAGE#\*$/,
  // They need many requests at once, or a day: audit records, guards of large transactions, unreferenced bodies.
  ...[/BatchWriteItem \S+ AUDIT#/, /ConditionCheckItem/, /^s3:DeleteObject \S+\/bodies\/\*$/],
  // Bodies that an earlier server version wrote.
  /^s3:\w+ \S+\/overflow\//,
]

runOnCloud('the permissions of functions', { here: true }, (cloud) => {
  const test = file === undefined ? it.skip : it
  if (file === undefined) process.stderr.write('Recorded calls are not checked: FHIR_CLOUD_CALLS is not set\n')

  const recorded = (): readonly RecordedCall[] => JSON.parse(readFileSync(file!, 'utf8'))

  test('allow every recorded call', () => {
    const calls = recorded()
    const template = templateOf(cloud())
    const needs = new Map(needsOf(calls).map((need) => [shapeOf(need), need]))
    const denied = [...needs].filter(([, need]) => !isFunctionAllowed(template, need.functionName, need)).map(([shape]) => shape)
    const callers = new Set([...needs.values()].map(({ functionName }) => functionName))
    process.stdout.write(`${calls.length} calls of ${callers.size} functions, ${needs.size} different ones\n`)
    expect(denied).toEqual([])
    // The explorer has no ports, so it calls no service.
    const withPorts = functionsOfStage('token').filter((name) => portsOfStage(name, 'token').length > 0)
    expect([...callers].sort()).toEqual(withPorts.toSorted())
  })

  test('are each used by at least one function', () => {
    const needs = needsOf(recorded())
    const template = templateOf(cloud())
    const used = new Map<string, boolean>()
    for (const name of functionsOfStage('token'))
      for (const { permission, isUsed } of permissionsOf(template, name, needs))
        used.set(permission, isUsed || used.get(permission) === true)
    const left = [...used].filter(([permission, isUsed]) => !isUsed && !NOT_SEEN.some((known) => known.test(permission)))
    expect(left.map(([permission]) => permission).sort()).toEqual([])
  })

  test('let FHIR interactions use only keys, revocations and guesses of the authorization server', () => {
    const used = new Map<string, Set<string>>()
    for (const { functionName, action, context = {} } of needsOf(recorded()))
      for (const key of [context['dynamodb:LeadingKeys'] ?? []].flat()) {
        const kind = /^(?:CLIENTS|USERS|SIGNING_KEYS|GRANT#guesses|GRANT(?=#)|OWNED(?=#)|REVOKED(?=#))/.exec(key)?.[0]
        const what = `${kind} ${/Get|Query/.test(action) ? 'read' : 'written'}`
        if (kind !== undefined) used.set(what, (used.get(what) ?? new Set()).add(functionName))
      }
    const callers = Object.fromEntries([...used].map(([what, names]) => [what, [...names].sort()]))
    const verifying = functionsOfStage('token').filter((name) => FUNCTIONS[name].ports.includes('verification'))
    expect(callers).toEqual({
      // Files and jobs of a partner need a partner that is still registered.
      'CLIENTS read': ['authorize', 'export-schedule', 'export-status', 'export-step', 'introspect', 'revoke', 'token'],
      'CLIENTS written': ['revoke'],
      'USERS read': ['authorize', 'token'],
      'USERS written': ['authorize'],
      'GRANT read': ['authorize', 'introspect', 'revoke', 'token'],
      'GRANT written': ['authorize', 'token'],
      'GRANT#guesses read': ['export-step', 'member-match'],
      'GRANT#guesses written': ['export-step', 'member-match'],
      'OWNED read': ['authorize'],
      'OWNED written': ['authorize', 'token'],
      'REVOKED read': [...verifying, 'authorize', 'revoke', 'token'].sort(),
      'REVOKED written': ['authorize', 'revoke', 'token'],
      'SIGNING_KEYS read': [...verifying, 'discovery', 'revoke', 'tend-keys', 'token'].sort(),
      'SIGNING_KEYS written': ['tend-keys'],
    })
  })

  describe('deny', () => {
    const all = functionsOfStage('token')
    const others = (...those: readonly FunctionName[]): readonly FunctionName[] => all.filter((name) => !those.includes(name))
    const writers: readonly FunctionName[] = [
      'create',
      'update',
      'patch',
      'delete',
      'bundle',
      'member-match',
      'export-step',
      'settle-transactions',
    ]
    const rows: readonly (readonly [what: string, functions: readonly FunctionName[], need: Omit<Need, 'functionName'>])[] = [
      [
        'writing resources',
        others(...writers),
        { action: 'dynamodb:PutItem', resource: ARNS.ResourceTable, context: { 'dynamodb:LeadingKeys': ['default#Patient#a'] } },
      ],
      [
        'telling which resources are definitions',
        others(...writers, 'rebuild-step'),
        { action: 'dynamodb:PutItem', resource: ARNS.ResourceTable, context: { 'dynamodb:LeadingKeys': ['default#CANONICAL#ValueSet#a'] } },
      ],
      [
        'reading patients',
        others(
          ...all.filter((name) => FUNCTIONS[name].ports.some((port) => port === 'resources' || port === 'settler' || port === 'persons')),
        ),
        { action: 'dynamodb:GetItem', resource: ARNS.ResourceTable, context: { 'dynamodb:LeadingKeys': ['default#Patient#a'] } },
      ],
      [
        'reading resources other than persons',
        others(...all.filter((name) => FUNCTIONS[name].ports.some((port) => port === 'resources' || port === 'settler'))),
        { action: 'dynamodb:GetItem', resource: ARNS.ResourceTable, context: { 'dynamodb:LeadingKeys': ['default#Observation#a'] } },
      ],
      ['writing packages', all, { action: 's3:PutObject', resource: `${ARNS.DataBucket}/packages/index.json` }],
      [
        'reading packages',
        // Reads and exports name profiles of packages in what a partner receives.
        others(
          ...(['read', 'vread', 'history', 'search', 'meta', 'everything', 'export'] as const),
          'validate',
          'apply-fhirpath',
          'capabilities',
          'create',
          'update',
          'patch',
          'delete',
          'bundle',
          'member-match',
          'settle-transactions',
        ),
        { action: 's3:GetObject', resource: `${ARNS.DataBucket}/packages/index.json` },
      ],
      ['deleting a table', all, { action: 'dynamodb:DeleteTable', resource: ARNS.ResourceTable }],
      ['scanning a table', all, { action: 'dynamodb:Scan', resource: ARNS.ResourceTable }],
      ['deleting an index', others('rebuild-step'), { action: 'es:ESHttpDelete', resource: `${ARNS.SearchDomain}/fhir-patient-v1` }],
      ['deleting every index', all, { action: 'es:ESHttpDelete', resource: `${ARNS.SearchDomain}/_all` }],
      [
        'searching',
        // An export step resolves filters with chains, $validate searches as a write does, and a rebuild asks all shards of a new index. For a
        // partner's token the denials of its member are searched.
        others('search', 'meta', 'everything', 'authorize', 'token', 'export-step', 'rebuild-step', 'validate', ...writers),
        { action: 'es:ESHttpPost', resource: `${ARNS.SearchDomain}/fhir-patient/_search` },
      ],
      ['indexing', others('indexer', 'rebuild-step'), { action: 'es:ESHttpPost', resource: `${ARNS.SearchDomain}/_bulk` }],
      [
        'making the key of seals',
        others('migrate'),
        { action: 'dynamodb:PutItem', resource: ARNS.StateTable, context: { 'dynamodb:LeadingKeys': ['SEAL'] } },
      ],
      [
        'reading audit records',
        all,
        { action: 'dynamodb:GetItem', resource: ARNS.StateTable, context: { 'dynamodb:LeadingKeys': ['AUDIT#2026'] } },
      ],
      [
        'using the key itself',
        all,
        { action: 'kms:Decrypt', resource: ARNS.Key, context: { 'kms:ViaService': 'es.us-east-1.amazonaws.com' } },
      ],
      ['changing permissions', all, { action: 'iam:PutRolePolicy', resource: 'arn:aws:iam::000000000000:role/fhir-local/x' }],
    ]

    it.each(rows)('%s', (_, functions, need) => {
      const template = templateOf(cloud())
      expect(functions.filter((name) => isFunctionAllowed(template, name, need))).toEqual([])
    })
  })
})
