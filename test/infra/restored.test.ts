/** Restored tables replace those of the stack for every function, mapping and alarm, and no permanent resource is removed. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { FunctionName } from '../../lambdas/functions/functions.ts'
import { findReplacements } from '../../lib/deploy/replacement-check.ts'
import { settingsOf } from '../../lib/settings/settings.ts'
import { findingsOf, functionsOf, resourcesOfType, type SynthesizedStacks, synthesizeStages, type Tree } from './assembly.ts'
import { ARNS, type IamCall, isFunctionAllowed } from './iam.ts'

const INSTANT = '2031-01-01T03:00:00Z'
const FIRST = { resources: 'restored-1', former: 'made', epoch: 1, instant: INSTANT }
const BOTH = { ...FIRST, state: 'state-1' }
const TOKEN = { access: 'token' } as const
const TWICE = {
  ...TOKEN,
  restored: { resources: 'restored-2', former: 'restored-1', epoch: 2, instant: INSTANT },
  exports: [{ name: 'nightly', schedule: 'rate(1 day)', client: 'etl', sinceLast: true }],
} as const
const { made, once, both, again, back, gone } = await synthesizeStages({
  made: TOKEN,
  once: { ...TOKEN, restored: FIRST },
  both: { ...TOKEN, restored: BOTH },
  again: TWICE,
  back: { ...TOKEN, restored: { resources: 'made', epoch: 3, instant: INSTANT } },
  gone: {
    ...TOKEN,
    restored: { resources: 'restored-1', state: 'state-1', epoch: 1, instant: INSTANT },
    capacity: { warm: { reads: 20_000, writes: 8_000, state: { reads: 12_000, writes: 25_000 } }, most: { reads: 40_000, writes: 20_000 } },
  },
})

const arnOf = (table: string): string => `arn:aws:dynamodb:us-east-1:000000000000:table/${table}`
const variablesOf = ({ service }: SynthesizedStacks, name: string): Tree => functionsOf(service)[name]!.Environment.Variables
const adoptionOf = ({ service }: SynthesizedStacks): Tree => Object.values(resourcesOfType(service, 'Custom::FhirAdoptedTables'))[0]

describe('Every function', () => {
  const naming = (variable: string) =>
    Object.entries(functionsOf(made.service)).flatMap(([name, { Environment }]) => (variable in Environment.Variables ? [name] : []))

  it('uses the restored resource table, and the state table if it was restored', () => {
    expect(naming('FHIR_TABLE').length).toBeGreaterThan(15)
    for (const name of naming('FHIR_TABLE')) {
      expect([name, variablesOf(once, name).FHIR_TABLE]).toEqual([name, 'restored-1'])
      expect([name, variablesOf(again, name).FHIR_TABLE]).toEqual([name, 'restored-2'])
    }
    expect(naming('FHIR_STATE_TABLE').length).toBeGreaterThan(20)
    for (const name of naming('FHIR_STATE_TABLE')) {
      expect([name, variablesOf(once, name).FHIR_STATE_TABLE]).toEqual([name, variablesOf(made, name).FHIR_STATE_TABLE])
      expect([name, variablesOf(both, name).FHIR_STATE_TABLE]).toEqual([name, 'state-1'])
    }
  })

  it('gets the restore generation, or none without a restore', () => {
    for (const name of Object.keys(functionsOf(again.service))) expect([name, variablesOf(again, name).FHIR_EPOCH]).toEqual([name, '2'])
    expect(naming('FHIR_EPOCH')).toEqual([])
  })

  it('has its table permissions on the restored tables, and none on the previous ones', () => {
    const calls: readonly Omit<IamCall, 'resource'>[] = [
      { action: 'dynamodb:GetItem', context: { 'dynamodb:LeadingKeys': ['default#Patient#a'] } },
      { action: 'dynamodb:PutItem', context: { 'dynamodb:LeadingKeys': ['default#Patient#a'] } },
      { action: 'dynamodb:Query', context: { 'dynamodb:LeadingKeys': ['default#CFG'] } },
    ]
    const state: readonly Omit<IamCall, 'resource'>[] = ['SEAL', 'CLIENTS', 'DEFINITIONS', 'AUDIT#1'].flatMap((key) =>
      ['GetItem', 'PutItem'].map((action) => ({ action: `dynamodb:${action}`, context: { 'dynamodb:LeadingKeys': [key] } })),
    )
    const names = Object.keys(functionsOf(made.service))
    const functionsAllowed = (stacks: SynthesizedStacks, call: IamCall) =>
      names.filter((name) => isFunctionAllowed(stacks.service, name, call))
    for (const call of calls) {
      expect(functionsAllowed(both, { ...call, resource: arnOf('restored-1') })).toEqual(
        functionsAllowed(made, { ...call, resource: ARNS.ResourceTable }),
      )
      expect(functionsAllowed(both, { ...call, resource: ARNS.ResourceTable })).toEqual([])
    }
    for (const call of state) {
      expect(functionsAllowed(both, { ...call, resource: arnOf('state-1') })).toEqual(
        functionsAllowed(made, { ...call, resource: ARNS.StateTable }),
      )
      expect(functionsAllowed(both, { ...call, resource: ARNS.StateTable })).toEqual([])
    }
    const query = { action: 'dynamodb:Query' }
    expect(functionsAllowed(both, { ...query, resource: `${arnOf('restored-1')}/index/gsi1` })).toEqual(
      functionsAllowed(made, { ...query, resource: `${ARNS.ResourceTable}/index/gsi1` }),
    )
  })

  it('is deployed after the tables are adopted', () => {
    const { Resources } = once.service
    const waiting = Object.values<Tree>(Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function')
    for (const { Properties, DependsOn = [] } of waiting)
      if (Properties.Handler !== 'adopt-tables.handler')
        expect([Properties.Handler, DependsOn]).toEqual([Properties.Handler, expect.arrayContaining(['AdoptedTables'])])
    expect(waiting.length).toBeGreaterThan(25)
  })
})

describe('Changes after the restored instant', () => {
  it('are read from the previous table, and by rebuild-step only', () => {
    for (const name of ['migrate', 'rebuild-step'])
      expect(variablesOf(again, name)).toMatchObject({ FHIR_RESTORED_AT: INSTANT, FHIR_FORMER_TABLE: 'restored-1' })
    const readers = (action: string, resource: string) =>
      Object.keys(functionsOf(again.service)).filter((name) => isFunctionAllowed(again.service, name, { action, resource }))
    for (const action of ['GetItem', 'BatchGetItem', 'Query'])
      expect([action, readers(`dynamodb:${action}`, arnOf('restored-1'))]).toEqual([action, ['rebuild-step']])
    expect(readers('dynamodb:Query', `${arnOf('restored-1')}/index/gsi1`)).toEqual(['rebuild-step'])
    for (const action of ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem'])
      expect(readers(`dynamodb:${action}`, arnOf('restored-1'))).toEqual([])
  })

  it('cannot be read if the previous table is gone', () => {
    const { FHIR_RESTORED_AT, FHIR_FORMER_TABLE } = variablesOf(gone, 'rebuild-step')
    expect([FHIR_RESTORED_AT, FHIR_FORMER_TABLE]).toEqual([INSTANT, undefined])
  })
})

describe('The function that adopts tables', () => {
  it('gets table names, key and limits, and returns the stream for both followers', () => {
    expect(adoptionOf(both)).toMatchObject({
      Resources: 'restored-1',
      State: 'state-1',
      Key: { 'Fn::ImportValue': expect.stringMatching(/Key\w+Arn/) },
    })
    expect(Object.keys(adoptionOf(once))).toEqual(['ServiceToken', 'ServiceTimeout', 'Resources', 'Key', 'Most', 'Former', 'Instant'])
    expect(adoptionOf(gone)).toMatchObject({
      ...{ Most: '40000 20000', Warm: '20000 8000', WarmIndex: '12000 8000', WarmState: '12000 25000' },
    })
    const mappings = Object.values(resourcesOfType(once.service, 'AWS::Lambda::EventSourceMapping'))
    expect(mappings.map(({ EventSourceArn, StartingPosition }) => [EventSourceArn, StartingPosition])).toEqual([
      [{ 'Fn::GetAtt': ['AdoptedTables', 'StreamArn'] }, 'TRIM_HORIZON'],
      [{ 'Fn::GetAtt': ['AdoptedTables', 'StreamArn'] }, 'TRIM_HORIZON'],
    ])
    for (const name of ['indexer', 'settle-transactions']) {
      const { Statement } = roleOf(once, name)
      expect(JSON.stringify(Statement)).toContain('{"Fn::GetAtt":["AdoptedTables","StreamArn"]}')
    }
  })

  it('may change properties of these tables, but access no items and no other table', () => {
    const may = (stacks: SynthesizedStacks, action: string, table: string) =>
      isFunctionAllowed(stacks.service, 'adopt-tables', { action: `dynamodb:${action}`, resource: arnOf(table) })
    const actions = ['Table', 'TimeToLive', 'ContinuousBackups'].flatMap((part) => [`Describe${part}`, `Update${part}`])
    for (const action of actions) {
      expect([action, ...['restored-1', 'state-1', 'made'].map((table) => may(both, action, table))]).toEqual([action, true, true, false])
      expect([action, may(once, action, 'state-1')]).toEqual([action, false])
    }
    for (const action of ['GetItem', 'Query', 'Scan', 'PutItem', 'DeleteItem', 'DeleteTable', 'ExportTableToPointInTime'])
      expect([action, may(both, action, 'restored-1')]).toEqual([action, false])
    const others = Object.keys(functionsOf(both.service)).filter((name: string) => name !== 'adopt-tables')
    for (const name of others as FunctionName[])
      for (const action of actions)
        expect([
          name,
          action,
          isFunctionAllowed(both.service, name, { action: `dynamodb:${action}`, resource: arnOf('restored-1') }),
        ]).toEqual([name, action, false])
  })

  it('does not exist without a restore', () => {
    expect(Object.keys(functionsOf(made.service))).not.toContain('adopt-tables')
    expect(Object.values<Tree>(made.service.Resources).map(({ Type }) => Type)).not.toContain('Custom::FhirAdoptedTables')
  })
})

function roleOf({ service }: SynthesizedStacks, name: string): Tree {
  const [roleId] = functionsOf(service)[name]!.Role['Fn::GetAtt']
  return service.Resources[roleId].Properties.Policies[0].PolicyDocument
}

describe('A deployment', () => {
  it('has alarms on the restored tables', () => {
    const watched = (stacks: SynthesizedStacks) =>
      Object.values(resourcesOfType(stacks.operation, 'AWS::CloudWatch::Alarm'))
        .filter(({ Namespace }) => Namespace === 'AWS/DynamoDB')
        .map(({ Dimensions }) => Dimensions.find(({ Name }: Tree) => Name === 'TableName').Value)
    expect(watched(both)).toEqual(['restored-1', 'restored-1', 'restored-1', 'restored-1', 'state-1', 'state-1'])
    expect(watched(made)).toHaveLength(6)
  })

  // The CDK skips a stack whose template is the same. Alarms would then watch the replaced event source mappings.
  it('changes the operation stack too, with each restore', () => {
    const templates = [made, once, back].map(({ operation }) => JSON.stringify(operation.Resources))
    expect(new Set(templates).size).toBe(3)
  })

  it('prints the names of the restored tables', () => {
    const named = ({ data }: SynthesizedStacks) => [data.Outputs.ResourceTableName.Value, data.Outputs.StateTableName.Value]
    expect(named(both)).toEqual(['restored-1', 'state-1'])
    expect(named(once)).toEqual(['restored-1', { Ref: expect.stringMatching(/^StateTable/) }])
  })

  it('revokes earlier tokens before other functions use an adopted state table', () => {
    const { Resources } = both.service
    const handled = (name: string): [string, Tree] =>
      Object.entries<Tree>(Resources).find(([, { Properties }]) => Properties?.Handler === `${name}.handler`) as [string, Tree]
    const [token] = handled('token')
    expect(Resources.Migration.DependsOn).toContain(token)
    for (const name of ['read', 'search', 'introspect', 'revoke', 'authorize', 'export-schedule'])
      expect([name, handled(name)[1].DependsOn]).toEqual([name, expect.arrayContaining(['Migration'])])
    expect(once.service.Resources.Migration.DependsOn).not.toContain(token)
    const adopted = [made, once, both, again].map(({ service }) => service.Resources.Migration.Properties.AdoptedState)
    expect(adopted).toEqual([undefined, undefined, 'yes', undefined])
    const may = ({ service }: SynthesizedStacks, action: string, key: string, resource: string = ARNS.StateTable) =>
      isFunctionAllowed(service, 'migrate', { action: `dynamodb:${action}`, resource, context: { 'dynamodb:LeadingKeys': [key] } })
    for (const key of ['REVOKED#x', 'ADOPTED'])
      for (const action of ['GetItem', 'PutItem'])
        expect([key, action, may(made, action, key), may(once, action, key), may(both, action, key, arnOf('state-1'))]).toEqual([
          ...[key, action],
          ...[false, true, true],
        ])
    expect(may(both, 'PutItem', 'CLIENTS', arnOf('state-1'))).toBe(false)
  })

  it('restarts scheduled exports that the restore ended', () => {
    const rules = Object.values(resourcesOfType(again.operation, 'AWS::Events::Rule')).filter(({ Description }) =>
      Description.startsWith('Begins'),
    )
    const schedule = { name: 'nightly', client: 'etl', tenant: 'default', level: 'system', sinceLast: true, epoch: 2 }
    const schedules = rules.map(({ ScheduleExpression, Targets }) => [
      ScheduleExpression,
      JSON.parse(Targets[0].InputTransformer.InputTemplate.replace('<time>', '"<time>"')),
    ])
    expect(schedules).toEqual([
      ['rate(1 day)', { schedule, time: '<time>' }],
      ['rate(10 minutes)', { schedule, time: '<time>', only: 'set-back' }],
    ])
  })

  it('migrates again with each restore', () => {
    const deployed = [made, once, again, back].map(({ service }) => service.Resources.Migration.Properties.Deployed)
    expect(new Set(deployed).size).toBe(4)
  })

  it.each([
    ['the first time', made, once],
    ['with the table of state', made, both],
    ['a second time', once, again],
    ['back to the table of the stack', again, back],
    ['until it is rolled back', both, made],
  ])('adopts tables %s, and replaces no permanent resource', (_, before, after) => {
    expect(findReplacements(before.data, after.data)).toEqual([])
    expect(findReplacements(before.service, after.service)).toEqual([])
    expect(after.data.Resources).toEqual(before.data.Resources)
  })

  it('keeps exports that the other stack still imports', () => {
    const exported = ({ data }: SynthesizedStacks) => Object.values<Tree>(data.Outputs).flatMap(({ Export }) => Export?.Name ?? [])
    const imported = (tree: Tree): readonly string[] =>
      [...JSON.stringify(tree).matchAll(/"Fn::ImportValue":"([^"]+)"/g)].map(([, name]) => name!)
    for (const [before, after] of [
      [made, both],
      [both, made],
      [once, again],
    ] as const)
      for (const name of imported(before.service)) expect(exported(after)).toContain(name)
    expect(imported(made.service).length).toBeGreaterThan(20)
    // The name of the domain is imported by service stacks with alarms, as earlier versions created them.
    expect(exported(made)).toContainEqual(expect.stringMatching(/:ExportsOutputRefSearchDomain/))
  })

  it('has only accepted findings of cdk-nag', async () => {
    const findings = await findingsOf({ both: { ...TOKEN, restored: BOTH }, again: TWICE })
    expect(findings.both).toEqual([])
    expect(findings.again).toEqual([])
  })
})

describe('The setting restored', () => {
  it.each<[object | string, string]>([
    ['restored-1', 'restored must be an object'],
    [{ ...FIRST, resources: 'x' }, 'restored.resources must be the name of a table'],
    [{ ...FIRST, resources: arnOf('restored-1') }, 'restored.resources must be the name of a table'],
    [{ ...FIRST, state: '' }, 'restored.state must be the name of a table'],
    [{ ...FIRST, state: 'restored-1' }, 'restored.state and resources must be different tables'],
    [{ ...FIRST, former: 1 }, 'restored.former must be the name of a table'],
    [{ ...FIRST, former: 'restored-1' }, 'restored.former must be the previous table'],
    [{ ...FIRST, epoch: 0 }, 'restored.epoch must be a whole number from 1'],
    [{ ...FIRST, epoch: 1.5 }, 'restored.epoch must be a whole number from 1'],
    [{ ...FIRST, epoch: 1_000_001 }, 'restored.epoch must be a whole number from 1 to 1000000'],
    [{ ...FIRST, instant: '2031-01-01' }, 'restored.instant must be a time in UTC'],
    [{ ...FIRST, instant: '2031-02-31T99:00:00Z' }, 'restored.instant must be a time in UTC'],
    [{ ...FIRST, table: 'x' }, 'restored.table is not a setting. Accepted: resources, state'],
  ])('%j is refused', (restored, message) => expect(() => settingsOf({ restored } as object)).toThrow(message))

  it('is valid in the example of the runbook', () => {
    const runbook = readFileSync('lib/docs/restore.md', 'utf8')
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(runbook) ?? []
    const settings = settingsOf(JSON.parse(json))
    expect(settings).toMatchObject({ service: { writes: 'stopped' }, restored: { former: 'THE-TABLE-BEFORE', epoch: 1 } })
    const { resources, instant } = settings.restored!
    expect(runbook).toContain(`--target-table-name ${resources} \\\n  --restore-date-time ${instant}`)
  })

  it('is returned as given', () => expect(settingsOf({ restored: BOTH }).restored).toEqual(BOTH))
})
