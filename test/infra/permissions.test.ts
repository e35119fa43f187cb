/** Permissions of the functions of a stage. */
import { describe, expect, it } from '@jest/globals'
import { aliasPrefixOf, KEY_LIST } from '../../lambdas/adapters/kms/published-keys.ts'
import { FUNCTIONS, type FunctionName, functionsOfStage, portsOfStage } from '../../lambdas/functions/functions.ts'
import { PASS_ROWS } from '../../lambdas/ports/rows/pass.ts'
import { functionsOf, resourcesOfType } from './assembly.ts'
import { ARNS, type IamCall, isFunctionAllowed, statementsOf } from './iam.ts'
import { elsewhere, functionNames, local, signed, tokens } from './stages.ts'

describe('permissions', () => {
  const MAY_WRITE: readonly FunctionName[] = [
    'create',
    'update',
    'patch',
    'delete',
    'bundle',
    'member-match',
    'export-step',
    'settle-transactions',
  ]
  const may = (name: string, call: IamCall) => isFunctionAllowed(signed.service, name, call)
  const functionsAllowed = (call: IamCall) => functionNames.filter((name) => may(name, call)).sort()
  const leading = (key: string) => ({ 'dynamodb:LeadingKeys': [key] })
  const via = (service: string) => ({ 'kms:ViaService': `${service}.us-east-1.amazonaws.com` })
  const index = (path: string) => `${ARNS.SearchDomain}/${path}`
  const object = (key: string) => `${ARNS.DataBucket}/${key}`

  it.each(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'ConditionCheckItem'])(
    'let only functions that write resources change the resource table: %s',
    (action) => {
      const context = leading('default#ValueSet#a')
      expect(functionsAllowed({ action: `dynamodb:${action}`, resource: ARNS.ResourceTable, context })).toEqual([...MAY_WRITE].sort())
    },
  )

  it.each([
    ['canonical rows', 'default#CANONICAL#ValueSet#a', ['rebuild-step']],
    ['identifier rows', 'default#IDENTIFIER#Patient#a', ['rebuild-step', 'indexer']],
  ])('let other functions add %s, but not remove them', (_, partition, others) => {
    const allowed = (action: string) =>
      functionsAllowed({ action: `dynamodb:${action}`, resource: ARNS.ResourceTable, context: leading(partition) })
    for (const action of ['PutItem', 'BatchWriteItem']) expect(allowed(action)).toEqual([...MAY_WRITE, ...others].sort())
    expect(allowed('DeleteItem')).toEqual([...MAY_WRITE].sort())
  })

  it('let no function scan, empty or change a table', () => {
    for (const resource of [ARNS.ResourceTable, ARNS.StateTable]) {
      for (const action of ['Scan', 'DeleteTable', 'UpdateTable', 'UpdateTimeToLive', 'PartiQLDelete', 'ExportTableToPointInTime']) {
        expect([action, functionsAllowed({ action: `dynamodb:${action}`, resource, context: leading('DEFINITIONS') })]).toEqual([
          action,
          [],
        ])
      }
    }
  })

  it('let functions with the audit port write audit records, and none read them', () => {
    const audit = (action: string) =>
      functionsAllowed({ action: `dynamodb:${action}`, resource: ARNS.StateTable, context: leading('AUDIT#2026-01-01T00:00#1') })
    expect(audit('PutItem')).toEqual(functionNames.filter((name) => FUNCTIONS[name].ports.includes('audit')).sort())
    for (const action of ['GetItem', 'Query', 'DeleteItem', 'UpdateItem']) expect([action, audit(action)]).toEqual([action, []])
  })

  it('let only migrate create the key of seals, and its port read it', () => {
    const seal = { resource: ARNS.StateTable, context: leading('SEAL') }
    expect(functionsAllowed({ action: 'dynamodb:PutItem', ...seal })).toEqual(['migrate'])
    expect(functionsAllowed({ action: 'dynamodb:GetItem', ...seal })).toEqual(
      functionNames.filter((name) => FUNCTIONS[name].ports.includes('seal')).sort(),
    )
  })

  it('let only rebuild-step read and write the progress of rebuilds', () => {
    const progress = { resource: ARNS.StateTable, context: leading('REBUILD_Patient') }
    for (const action of ['GetItem', 'PutItem', 'Query', 'BatchWriteItem'])
      expect([action, functionsAllowed({ action: `dynamodb:${action}`, ...progress })]).toEqual([action, ['rebuild-step']])
  })

  it('let only functions with the definitions port change definitions', () => {
    const call = { action: 'dynamodb:PutItem', resource: ARNS.StateTable, context: leading('DEFINITIONS') }
    expect(functionsAllowed(call)).toEqual(functionNames.filter((name) => FUNCTIONS[name].ports.includes('definitions')).sort())
  })

  it('let only functions that sweep store the progress of passes', () => {
    for (const action of ['GetItem', 'PutItem'])
      expect([action, functionsAllowed({ action: `dynamodb:${action}`, resource: ARNS.StateTable, context: leading(PASS_ROWS) })]).toEqual([
        action,
        ['export-sweep', 'settle-transactions'],
      ])
  })

  it('let only rebuild-step remove an index or move an alias', () => {
    expect(functionsAllowed({ action: 'es:ESHttpDelete', resource: index('fhir-patient-v1') })).toEqual(['rebuild-step'])
    expect(functionsAllowed({ action: 'es:ESHttpPost', resource: index('_aliases') })).toEqual(['rebuild-step'])
  })

  it('let only indexer and rebuild-step write documents', () =>
    expect(functionsAllowed({ action: 'es:ESHttpPost', resource: index('_bulk') })).toEqual(['indexer', 'rebuild-step']))

  it('let no function access other indices or cluster settings', () => {
    for (const path of [
      'other/_search',
      '_cluster/settings',
      '_snapshot/x',
      '_cat/indices',
      '_plugins/_security/api',
      '_reindex',
      '_all/_search',
    ]) {
      for (const method of ['Get', 'Post', 'Put', 'Delete', 'Head', 'Patch']) {
        expect([path, method, functionsAllowed({ action: `es:ESHttp${method}`, resource: index(path) })]).toEqual([path, method, []])
      }
    }
  })

  it('let only functions that write resources put or remove large bodies', () => {
    for (const folder of ['bodies', 'overflow']) {
      const resource = object(`${folder}/default/Patient/1`)
      expect(functionsAllowed({ action: 's3:PutObject', resource })).toEqual(
        MAY_WRITE.filter((name) => name !== 'settle-transactions').sort(),
      )
      expect(functionsAllowed({ action: 's3:DeleteObject', resource })).toEqual([...MAY_WRITE].sort())
    }
  })

  it('let no function remove object versions or read failed records', () => {
    for (const [action, key] of [
      ['DeleteObjectVersion', 'overflow/x'],
      ['PutBucketPolicy', ''],
      ['DeleteObject', 'queries/x'],
      ['GetObject', 'aws/lambda/x'],
      ['PutObject', 'elsewhere/x'],
    ]) {
      expect([action, functionsAllowed({ action: `s3:${action}`, resource: object(key!) })]).toEqual([action, []])
    }
  })

  it('let only functions with the workflow port start a rebuild', () =>
    expect(functionsAllowed({ action: 'states:StartExecution', resource: ARNS.RebuildMachine })).toEqual(
      functionNames.filter((name) => FUNCTIONS[name].ports.includes('workflow')).sort(),
    ))

  describe('with tokens', () => {
    const all = functionsOfStage('token')
    const functionsAllowed = (call: IamCall) => all.filter((name) => isFunctionAllowed(tokens.service, name, call)).sort()
    const onState = (action: string, key: string) =>
      functionsAllowed({ action: `dynamodb:${action}`, resource: ARNS.StateTable, context: leading(key) })
    const having = (...ports: readonly string[]) => all.filter((name) => FUNCTIONS[name].ports.some((port) => ports.includes(port))).sort()
    const SIGNING_KEY = 'arn:aws:kms:us-east-1:111111111111:key/made'
    const ofStage = (stage: string) => ({ 'aws:ResourceTag/fhir-stage': stage })

    it('let the authorization server and exports read clients, registrations write them, and logins write passwords', () => {
      expect(onState('GetItem', 'CLIENTS')).toEqual([
        'authorize',
        'export',
        'export-schedule',
        'export-status',
        'export-step',
        'introspect',
        'revoke',
        'token',
      ])
      expect(onState('GetItem', 'USERS')).toEqual(['authorize', 'token'])
      for (const action of ['PutItem', 'DeleteItem']) expect([action, onState(action, 'CLIENTS')]).toEqual([action, ['revoke']])
      expect([onState('PutItem', 'USERS'), onState('DeleteItem', 'USERS')]).toEqual([['authorize'], []])
      for (const key of ['CLIENTS', 'USERS']) {
        for (const action of ['UpdateItem', 'BatchWriteItem', 'Query', 'BatchGetItem'])
          expect([key, action, onState(action, key)]).toEqual([key, action, []])
      }
    })

    it('let only the authorization server access its grants', () => {
      const keeping = ['authorize', 'introspect', 'revoke', 'token']
      for (const action of ['GetItem', 'PutItem', 'DeleteItem'])
        expect([action, onState(action, 'GRANT#code#x')]).toEqual([action, keeping])
      for (const action of ['Query', 'PutItem', 'DeleteItem'])
        expect([action, onState(action, 'OWNED#refresh#x')]).toEqual([action, keeping])
    })

    it('let every function that verifies callers read revocations and keys', () => {
      expect(onState('BatchGetItem', 'REVOKED#x')).toEqual(having('verification', 'revoking'))
      expect(onState('PutItem', 'REVOKED#x')).toEqual(['authorize', 'revoke', 'token'])
      expect(onState('GetItem', KEY_LIST)).toEqual(having('verification', 'published-keys', 'signing', 'keys'))
      expect(onState('PutItem', KEY_LIST)).toEqual(['tend-keys'])
      const resources = functionNames.filter((name) => FUNCTIONS[name].ports.includes('audit') && name !== 'fallback')
      expect(having('verification')).toEqual([...resources, 'introspect'].sort())
    })

    it('let only functions that open patient data read the person of a token', () => {
      const others = ['introspect', 'capabilities', 'reindex', 'reindex-status', 'apply-fhirpath']
      for (const type of ['Patient', 'RelatedPerson']) {
        const context = leading(`default#${type}#a`)
        const may = functionsAllowed({ action: 'dynamodb:GetItem', resource: ARNS.ResourceTable, context })
        expect(may).toEqual(expect.arrayContaining(having('verification').filter((name) => !others.includes(name))))
        expect(may).toContain('token')
        expect(may.filter((name) => others.includes(name))).toEqual([])
      }
      for (const name of ['export-status', 'export-cancel'] as const)
        expect([
          name,
          isFunctionAllowed(tokens.service, name, {
            action: 'dynamodb:GetItem',
            resource: ARNS.ResourceTable,
            context: leading('default#Observation#a'),
          }),
        ]).toEqual([name, false])
    })

    it('let only token sign, with keys of this stage', () => {
      const sign = (context: IamCall['context']) =>
        functionsAllowed({ action: 'kms:Sign', resource: SIGNING_KEY, ...(context && { context }) })
      expect(sign(ofStage('dev'))).toEqual(['token'])
      expect(sign(ofStage('prod'))).toEqual([])
      expect(sign(undefined)).toEqual([])
    })

    it('let only tend-keys create and remove signing keys of this stage', () => {
      const make = { 'aws:RequestTag/fhir-stage': 'dev', 'kms:KeySpec': 'RSA_2048', 'kms:KeyUsage': 'SIGN_VERIFY' }
      const may = (action: string, context: Record<string, string>) =>
        functionsAllowed({ action: `kms:${action}`, resource: SIGNING_KEY, context })
      expect(may('CreateKey', make)).toEqual(['tend-keys'])
      expect(may('CreateKey', { ...make, 'kms:KeyUsage': 'ENCRYPT_DECRYPT' })).toEqual([])
      expect(may('CreateKey', { ...make, 'aws:RequestTag/fhir-stage': 'prod' })).toEqual([])
      expect(may('TagResource', make)).toEqual(['tend-keys'])
      expect(may('TagResource', { ...make, ...ofStage('prod') })).toEqual([])
      const alias = (name: string) =>
        functionsAllowed({ action: 'kms:CreateAlias', resource: `arn:aws:kms:us-east-1:111111111111:${aliasPrefixOf(name)}1` })
      expect([alias('dev'), alias('prod'), functionsAllowed({ action: 'kms:ListKeys', resource: '*' })]).toEqual([['tend-keys'], [], []])
      for (const action of ['CreateAlias', 'GetPublicKey', 'ScheduleKeyDeletion']) {
        expect(may(action, ofStage('dev'))).toEqual(['tend-keys'])
        expect(may(action, ofStage('prod'))).toEqual([])
      }
      for (const action of ['PutKeyPolicy', 'CreateGrant', 'UntagResource', 'DisableKey']) expect(may(action, ofStage('dev'))).toEqual([])
    })

    it('let no function read authorization data if requests are signed', () => {
      for (const key of ['CLIENTS', 'USERS', 'GRANT#code#x', 'REVOKED#x', KEY_LIST])
        for (const name of functionNames)
          expect([
            name,
            isFunctionAllowed(signed.service, name, { action: 'dynamodb:GetItem', resource: ARNS.StateTable, context: leading(key) }),
          ]).toEqual([name, false])
    })
  })

  it('let only tables and bucket use the key, never a function directly', () => {
    const call = { action: 'kms:Decrypt', resource: ARNS.Key }
    expect(functionsAllowed(call)).toEqual([])
    expect(functionsAllowed({ ...call, context: via('secretsmanager') })).toEqual([])
    expect(may('read', { ...call, context: via('dynamodb') })).toBe(true)
    expect(functionsAllowed({ action: 'kms:ScheduleKeyDeletion', resource: ARNS.Key, context: via('dynamodb') })).toEqual([])
  })

  it.each<[FunctionName, string, string]>([
    ['read', 'dynamodb:GetItem', ARNS.ResourceTable],
    ['read', 's3:GetObject', object('bodies/default/Patient/1')],
    ['read', 's3:GetObject', object('overflow/default/Patient/1')],
    ['history', 'dynamodb:Query', `${ARNS.ResourceTable}/index/gsi1`],
    ['search', 'es:ESHttpPost', index('fhir-patient,fhir-observation/_search')],
    ['search', 's3:PutObject', object('queries/2026-01-01/x')],
    ['search', 'es:ESHttpPost', index('fhir-patient-0123456789ab/_search_shards')],
    ['create', 'es:ESHttpPost', index('_mget')],
    ['bundle', 'dynamodb:ConditionCheckItem', ARNS.ResourceTable],
    ['indexer', 'dynamodb:GetRecords', `${ARNS.ResourceTable}/stream/1`],
    ['indexer', 's3:PutObject', object('aws/lambda/1/shard/x')],
    ['indexer', 'es:ESHttpPut', index('fhir-patient-v1')],
    ['indexer', 'es:ESHttpGet', index('fhir-patient-0123456789ab/_mapping')],
    ['indexer', 'es:ESHttpGet', index('fhir-*/_stats/store')],
    ['indexer', 'es:ESHttpGet', index('fhir-*/_settings/index.number_of_shards')],
    ['rebuild-step', 'es:ESHttpGet', index('fhir-patient-next-0123456789ab/_mapping')],
    ['rebuild-step', 'es:ESHttpGet', index('fhir-*/_settings/index.number_of_shards')],
    ['rebuild-step', 'es:ESHttpPost', index('fhir-patient-v2-0123456789ab/_search')],
    ['rebuild-step', 'es:ESHttpPost', index('fhir-patient-v2-0123456789ab/_search_shards')],
    ['rebuild-step', 'es:ESHttpGet', index('_cluster/health/fhir-patient-v2-0123456789ab')],
    ['rebuild-step', 'es:ESHttpPut', index('fhir-patient-v2-0123456789ab/_settings')],
    ['settle-transactions', 's3:ListBucket', ARNS.DataBucket],
    ['settle-transactions', 's3:GetObject', object('bodies/default/Patient/1')],
    ['rebuild-step', 'dynamodb:Query', `${ARNS.ResourceTable}/index/gsi1`],
  ])('let %s do its work: %s on %s', (name, action, resource) => expect(may(name, { action, resource })).toBe(true))

  it('need no rule for a search endpoint without an ARN, which gets unsigned requests', () => {
    for (const name of functionNames) {
      expect(
        statementsOf(local.service, name)
          .flatMap(({ Action }) => [Action].flat() as string[])
          .filter((action) => /^es:/.test(action)),
      ).toEqual([])
    }
    expect(functionsOf(local.service).search!.Environment.Variables.FHIR_SEARCH_SIGNING).toBe('none')
    expect(functionsOf(signed.service).search!.Environment.Variables.FHIR_SEARCH_SIGNING).toBe('sigv4')
  })

  it('allow signed requests to an external domain by its ARN', () => {
    const call = { action: 'es:ESHttpPost', resource: 'arn:aws:es:us-east-1:111111111111:domain/own/fhir-patient/_search' }
    expect(isFunctionAllowed(elsewhere.service, 'search', call)).toBe(true)
    expect(functionsOf(elsewhere.service).search!.Environment.Variables.FHIR_SEARCH_SIGNING).toBe('sigv4')
  })

  it('let the domain accept signed requests of these roles only', () => {
    const [domain] = Object.values(resourcesOfType(signed.data, 'AWS::OpenSearchService::Domain'))
    const [statement, ...others] = domain!.AccessPolicies.Statement
    expect(others).toEqual([])
    expect(JSON.stringify(statement.Condition.ArnLike['aws:PrincipalArn'])).toContain(':role/fhir-dev/*')
    const roles = Object.values(resourcesOfType(signed.service, 'AWS::IAM::Role')).filter(({ Description }) =>
      /may do$/.test(Description ?? ''),
    )
    expect(roles.map(({ Path }) => Path)).toEqual(functionNames.map(() => '/fhir-dev/'))
    expect(domain).toMatchObject({
      EncryptionAtRestOptions: { Enabled: true },
      NodeToNodeEncryptionOptions: { Enabled: true },
      DomainEndpointOptions: { EnforceHTTPS: true },
    })
  })
})

it('only functions that validate, read, write, export, describe the server or register search parameters read packages', () => {
  const reading = functionNames.filter((name) => portsOfStage(name, 'iam').includes('packages')).toSorted()
  expect(reading).toEqual([
    'apply-fhirpath',
    'bundle',
    'capabilities',
    'create',
    'delete',
    'everything',
    'export',
    'history',
    'member-match',
    'meta',
    'patch',
    'read',
    'search',
    'settle-transactions',
    'update',
    'validate',
    'vread',
  ])
})

it('apply-fhirpath reads definitions of tenants and no other resources', () => {
  const reads = (action: string, partition: string): boolean =>
    isFunctionAllowed(tokens.service, 'apply-fhirpath', {
      action,
      resource: ARNS.ResourceTable,
      context: { 'dynamodb:LeadingKeys': [partition] },
    })
  const definitions = ['default#StructureDefinition#a', 'default#ValueSet#a', 'acme#CodeSystem#a', 'default#TXN#a']
  for (const partition of definitions) expect([partition, reads('dynamodb:GetItem', partition)]).toEqual([partition, true])
  for (const partition of ['default#Patient#StructureDefinition', 'default#Basic#a', 'default#CFG', 'default#UNQ#a'])
    expect([partition, reads('dynamodb:GetItem', partition)]).toEqual([partition, false])
  for (const partition of ['default#CFG', 'default#CANONICAL#ValueSet#a']) expect(reads('dynamodb:Query', partition)).toBe(true)
  expect(reads('dynamodb:Query', 'default#Patient#c#0')).toBe(false)
  const bodies = ['bodies/default/ValueSet/a', 'overflow/default/ValueSet/a~1~b']
  const others = ['bodies/default/Patient/a', 'overflow/default/Patient/a~1~b', 'queries/default/a']
  const isRead = (key: string) =>
    isFunctionAllowed(tokens.service, 'apply-fhirpath', { action: 's3:GetObject', resource: `${ARNS.DataBucket}/${key}` })
  expect(bodies.filter(isRead)).toEqual(bodies)
  expect(others.filter(isRead)).toEqual([])
})
