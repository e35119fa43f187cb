/** Stream, schedules, workflows and settings of a deployed stage. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import validate from 'asl-validator'
import { App } from 'aws-cdk-lib'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'
import { FUNCTIONS, type FunctionName, isHttpFunction } from '../../lambdas/functions/functions.ts'
import { rebuildWorkflow } from '../../lambdas/indexing/rebuild/workflow.ts'
import { SETTINGS } from '../../lambdas/runtime/config.ts'
import { SWEEP_MS } from '../../lambdas/runtime/step-times.ts'
import { type ServiceSetting, serviceEnvironmentOf, settingsOf } from '../../lib/settings/settings.ts'
import { DataStack } from '../../lib/stacks/data-stack.ts'
import { FEATURE_FLAGS } from '../../lib/stacks/flags.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { functionsOf, resourcesOfType, type SynthesizedStacks, synthesizeStages, type Tree } from './assembly.ts'
import { DOMAIN, demo, functionNames, local, production, STAGES, signed, tokens } from './stages.ts'

/** For each setting of the service a value other than the default, except those that are rejected. Tenancy requires tokens. */
const SERVICE_SETTINGS: Readonly<Partial<Record<ServiceSetting, string>>> = {
  clientIds: 'optional',
  conditionalUpdateIdMismatch: 'reject',
  noOpUpdates: 'ignore',
  consistency: 'strong',
  writes: 'stopped',
  validateProfiles: 'warn',
  versioning: 'off',
  timeZone: 'Europe/Berlin',
  tenantClaim: 'organization',
  externalIssuers: JSON.stringify([
    { issuer: 'https://auth.example.org', audience: 'api://fhir', jwksUri: 'https://auth.example.org/keys', scopes: 'system/*.rs' },
  ]),
  privateHosts: '10.1.0.0/16',
  pkce: 'require',
  organizationName: 'Klinik am Fluß',
  patientScopesWithoutContext: 'none',
  maxTransactionEntries: '10',
  maxBodyBytes: '1000000',
  allowedOrigins: 'https://app.example.org',
  auditRetentionDays: '30',
  auditDurability: 'strict',
  exportNeedsAssertion: 'off',
  userExports: 'on',
  maxRunningExports: '2',
  exportRetentionDays: '3',
  groupExportTypes: 'Patient',
  payer: 'http://hl7.org/fhir/sid/us-npi|1992999999',
  sensitiveLabels: 'none',
  payerWindowYears: '6',
  providerSince: '2015-01-01',
  maxMatchMembers: '10',
  payerGroupDays: '30',
  providerGroupDays: '10',
  treatment: 'listed',
  reportOptOut: 'on',
  publicRead: 'system/Location.rs system/Organization.rs?type=prov',
  disclosureYears: '7',
  requestLog: 'on',
  searchBudget: '5000',
}
const REFUSED: readonly ServiceSetting[] = [
  'access',
  'addressHeader',
  'exportAdditionalResources',
  'maxRequests',
  'metricsPort',
  'packageRegistry',
  'publicReadBurst',
  'publicReadRate',
  'publicReadTotal',
  'referentialIntegrity',
]

const { again, changed, named, namedAndSigned } = await synthesizeStages({
  first: {},
  again: {},
  changed: { service: SERVICE_SETTINGS },
  named: { customDomain: DOMAIN },
  namedAndSigned: { access: 'iam', customDomain: DOMAIN },
})

it('the templates of a stage with an account and a VPC require no look-up in that account', () => {
  const settings = settingsOf(STAGES.production)
  expect([settings.account, settings.vpc]).not.toContain(undefined)
  const app = new App({ context: FEATURE_FLAGS, outdir: newFolder() })
  new DataStack(app, 'data', settings)
  expect(app.synth().manifest.missing).toBeUndefined()
})

describe('the background work of a stage', () => {
  it.each([
    ['indexer', ['H', 'P']],
    ['settle-transactions', ['T']],
  ])('gives %s records with the sort keys %s, retries failed ones and loses none', (name, sorts) => {
    const functionId = Object.entries(resourcesOfType(signed.service, 'AWS::Lambda::Function')).find(
      ([, { Handler }]) => Handler === `${name}.handler`,
    )![0]
    const mapping = Object.values(resourcesOfType(signed.service, 'AWS::Lambda::EventSourceMapping')).find(
      ({ FunctionName }) => FunctionName.Ref === functionId,
    )
    expect(mapping).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 500,
      MaximumBatchingWindowInSeconds: 0,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: -1,
      MaximumRecordAgeInSeconds: 20 * 60 * 60,
      ParallelizationFactor: 1,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::ImportValue': expect.stringContaining('DataBucket') } } },
    })
    expect(JSON.parse(mapping.FilterCriteria.Filters[0].Pattern)).toEqual({ dynamodb: { Keys: { sk: { S: sorts } } } })
  })

  it('has exactly two followers, the limit of a stream', () =>
    expect(Object.keys(resourcesOfType(signed.service, 'AWS::Lambda::EventSourceMapping'))).toHaveLength(2))

  it('resumes unfinished work every minute, hour and day', () => {
    const rules = Object.values(resourcesOfType(signed.service, 'AWS::Events::Rule'))
    expect(rules.map(({ ScheduleExpression, Targets }) => [ScheduleExpression, Targets[0].Input])).toEqual([
      ['rate(1 minute)', '{"sweep":"transactions"}'],
      ['rate(1 hour)', '{"sweep":"bodies"}'],
      ['rate(1 minute)', '{"sweep":"index"}'],
      ['rate(1 minute)', '{"sweep":"jobs"}'],
      ['rate(1 hour)', '{"sweep":"expired"}'],
      ['rate(1 hour)', '{"sweep":"matches"}'],
    ])
  })

  it('ends sweeps two minutes before the timeouts of their functions', () => {
    const functions = functionsOf(signed.service)
    for (const name of ['settle-transactions', 'export-sweep'])
      expect([name, functions[name]!.Timeout * 1_000 - SWEEP_MS]).toEqual([name, 2 * 60_000])
  })

  it('checks signing keys daily, and creates them before tokens are issued', () => {
    const inputs = Object.values(resourcesOfType(tokens.service, 'AWS::Events::Rule')).map(({ Targets }) => Targets[0].Input)
    expect(inputs).toContain('{"sweep":"keys"}')
    const { Resources } = tokens.service
    const signingKeys = Object.entries<Tree>(Resources).find(([, { Type }]) => Type === 'Custom::FhirSigningKeys')![0]
    const token = Object.values<Tree>(Resources).find(({ Properties }) => Properties?.Handler === 'token.handler')
    expect(token.DependsOn).toContain(signingKeys)
  })

  it.each([
    ['rebuilds by the workflow of lambdas/indexing', 'Rebuild', rebuildWorkflow],
    ['exports by the workflow of lambdas/export', 'Exporting', (step: string) => exportWorkflow(step, 4)],
  ])('%s, and its log contains no input', (_, id, definition) => {
    const machines = Object.entries(resourcesOfType(signed.service, 'AWS::StepFunctions::StateMachine'))
    const [, machine] = machines.find(([each]) => each.startsWith(`${id}Machine`))!
    const [separator, parts] = machine.DefinitionString['Fn::Join']
    const text = parts.map((part: Tree) => (typeof part === 'string' ? part : 'ARN')).join(separator)
    const limited = JSON.parse(text, (name, value) => (name === 'TimeoutSeconds' ? undefined : value))
    expect(limited).toEqual(definition('ARN'))
    expect([machine.LoggingConfiguration.IncludeExecutionData, machine.StateMachineType]).toEqual([false, undefined])
  })

  it.each([
    ['Rebuild', 'rebuild-step', 6 * 24],
    ['Exporting', 'export-step', 2 * 24],
  ])('limits the time of each step and workflow: %s, %s, %i hours', (id, name, hours) => {
    const [, machine] = Object.entries(resourcesOfType(signed.service, 'AWS::StepFunctions::StateMachine')).find(([each]) =>
      each.startsWith(`${id}Machine`),
    )!
    const text = machine.DefinitionString['Fn::Join'][1]
      .map((part: Tree) => (typeof part === 'string' ? part : 'arn:aws:lambda:x:0:function:f'))
      .join('')
    const tasks: Tree[] = []
    const definition = JSON.parse(text, (_, value) => {
      if (value?.Type === 'Task') tasks.push(value)
      return value
    })
    expect(definition.TimeoutSeconds).toBe(hours * 60 * 60)
    expect(tasks.length).toBeGreaterThan(1)
    const { Timeout } = functionsOf(signed.service)[name]!
    for (const { TimeoutSeconds, Retry } of tasks) {
      expect([TimeoutSeconds > Timeout, TimeoutSeconds]).toEqual([true, Timeout + 60])
      // The last retry covers all errors, also that of a step that did not respond.
      expect(Retry.at(-1).ErrorEquals).toEqual(['States.ALL'])
    }
    expect(validate(definition)).toMatchObject({ isValid: true })
  })
})

describe('a deployment', () => {
  const { Resources } = signed.service
  const migration = Resources.Migration
  const idOf = (name: string) =>
    Object.entries(resourcesOfType(signed.service, 'AWS::Lambda::Function')).find(([, { Handler }]) => Handler === `${name}.handler`)![0]

  it('migrates after the stream functions and before other functions serve requests', () => {
    const before = ['indexer', 'settle-transactions', 'rebuild-step', 'export-step', 'export-sweep', 'migrate']
    for (const name of before) expect(migration.DependsOn).toContain(idOf(name))
    for (const name of functionNames.filter((each) => ![...before, 'link-key'].includes(each))) {
      expect([name, Resources[idOf(name)].DependsOn]).toEqual([name, expect.arrayContaining(['Migration'])])
    }
  })

  it('records after all HTTP functions are updated that they are', () => {
    const { MigrationEnd } = Resources
    const writers = functionNames.filter(
      (name) => isHttpFunction(name as FunctionName) && FUNCTIONS[name as FunctionName].ports.includes('writer'),
    )
    expect(writers).toEqual(expect.arrayContaining(['create', 'update', 'bundle']))
    expect(MigrationEnd.DependsOn).toEqual(expect.arrayContaining(['Migration', ...writers.map(idOf)]))
    expect(migration.Properties.IndexRows).toBe('yes')
    expect(MigrationEnd.Properties).toEqual({ ...migration.Properties, UpdatedFunctions: 'yes' })
  })

  it.each(['Migration', 'MigrationEnd'])('runs %s again only if code or settings change', (id) => {
    const deployed = ({ service }: SynthesizedStacks) => service.Resources[id].Properties.Deployed
    expect(deployed(again)).toBe(deployed(demo))
    expect(deployed(changed)).not.toBe(deployed(demo))
  })

  it('passes the base URL of clients to the functions', () => {
    const baseUrl = ({ service }: SynthesizedStacks) => functionsOf(service).read!.Environment.Variables.FHIR_BASE_URL
    const [, parts] = baseUrl(signed)['Fn::Join']
    const [api] = Object.keys(resourcesOfType(signed.service, 'AWS::ApiGateway::RestApi'))
    expect(parts.map((part: Tree | string) => (typeof part === 'string' ? part : Object.values(part)[0]))).toEqual([
      'https://',
      api,
      '.execute-api.us-east-1.',
      'AWS::URLSuffix',
      '/fhir',
    ])
    // CloudFront calls the API by its own name, and the API rejects signatures for another host.
    expect(baseUrl(namedAndSigned)['Fn::Join'][1][0]).toBe('https://')
    expect(baseUrl(named)).toBe('https://fhir.example.org/fhir')
    expect(JSON.stringify(baseUrl(tokens))).toContain('DomainName')
    expect(baseUrl(local)).toBe('http://127.0.0.1:8080/fhir')
  })

  it('passes all own base URLs to the functions, the API first', () => {
    const variablesOf =
      (name: string) =>
      (of: SynthesizedStacks): readonly string[] =>
        Object.values(functionsOf(of.service)).flatMap(({ Environment }) =>
          Environment?.Variables.FHIR_BASE_URL === undefined ? [] : [urlOf(Environment.Variables[name])],
        )
    const [own] = variablesOf('FHIR_BASE_URL')(signed)
    for (const stage of [signed, namedAndSigned, production, named, tokens, local]) {
      const [links] = variablesOf('FHIR_BASE_URL')(stage)
      const bases = variablesOf('FHIR_OWN_BASES')(stage)
      expect(new Set(bases).size).toBe(1)
      const [first, ...others] = bases[0]!.split(' ')
      expect(first).toBe(own)
      expect(others).toContain('https://Distribution/fhir')
      expect([first, ...others]).toContain(links)
    }
    expect(variablesOf('FHIR_OWN_BASES')(named)[0]).toBe(`${own} https://Distribution/fhir https://fhir.example.org/fhir`)
  })

  it('prints the names and addresses of its parts', () => {
    expect(Object.keys(signed.data.Outputs)).toEqual(expect.arrayContaining(['ResourceTableName', 'StateTableName', 'BucketName']))
    expect(Object.keys(signed.service.Outputs)).toEqual(expect.arrayContaining(['BaseUrl', 'ApiUrl', 'DistributionDomain', 'AlarmTopic']))
  })

  it('prints one command that registers the first administrator', () => {
    const commandOf = ({ service }: SynthesizedStacks): string => service.Outputs.FirstClient.Value
    expect(readFileSync('lib/docs/deploy.md', 'utf8')).toContain(`${commandOf(demo)}\n`)
    expect(commandOf(tokens)).toContain(" --tenant '*'")
    expect(signed.service.Outputs.FirstClient).toBeUndefined()
    const command = `${commandOf(demo)} --json`
      .replace('npm run fhir --', `${process.execPath} bin/fhir.js`)
      .replace('--stage dev', `--data ${newFolder()}`)
    const { stdout } = spawnSync(command, { shell: true, encoding: 'utf8' })
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ client_id: 'admin', client_secret: expect.any(String), scope: 'system/*.cruds system/admin', tenants: ['default'] },
    })
  })

  it('does not start with invalid settings', () => {
    const wrong = (settings: object) => () => settingsOf(settings)
    expect(wrong({ stagee: 'x' })).toThrow('"stagee" is not a setting')
    expect(wrong({ service: { versioning: 'maybe' } })).toThrow('FHIR_VERSIONING')
    expect(wrong({ service: { referentialIntegrity: 'on' } })).toThrow('referentialIntegrity is not possible on AWS')
    expect(wrong({ service: { maxBodyBytes: 6_000_000 } })).toThrow('maxBodyBytes must be at most 5000000')
    for (const baseUrl of [
      'http://x/fhir',
      'http://127.0.0.1.evil.example/fhir',
      'https://x/fhir/',
      'https://u@x/fhir',
      'https://x/fhir?a',
      'x',
      '',
    ])
      for (const access of ['token', 'iam']) expect(wrong({ access, baseUrl })).toThrow(`baseUrl is "${baseUrl}", but must be an https URL`)
    for (const baseUrl of ['https://fhir.example.org/fhir', 'http://127.0.0.1:8080/fhir'])
      expect(settingsOf({ access: 'token', baseUrl }).baseUrl).toBe(baseUrl)
    expect(wrong({ access: 'token', service: { tenantClaim: 'scope' } })).toThrow('FHIR_TENANT_CLAIM is "scope"')
    expect(wrong({ stage: 'Prod!' })).toThrow('is not a valid stage name')
  })

  it('applies the settings of the service', () => {
    const { Variables } = functionsOf(production.service).vread!.Environment
    expect(Variables).toMatchObject({ FHIR_VERSIONING: 'off', FHIR_ALLOWED_ORIGINS: 'https://app.example.org' })
    expect(functionsOf(production.service).indexer!.ReservedConcurrentExecutions).toBe(20)
  })

  it('passes every service setting to each function, or rejects it with an alternative', () => {
    const names = [...Object.keys(SERVICE_SETTINGS), ...REFUSED, 'tenancy', 'publicReadTenant', 'sharedTenant']
    expect(SETTINGS.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
    const variables = { ...serviceEnvironmentOf(settingsOf({ service: SERVICE_SETTINGS })), FHIR_ACCESS: 'token' }
    expect(Object.keys(variables)).toHaveLength(Object.keys(SERVICE_SETTINGS).length + 1)
    for (const [name, { Environment }] of Object.entries(functionsOf(changed.service)))
      expect([name, Environment.Variables]).toEqual([name, expect.objectContaining(variables)])
    for (const { Environment } of Object.values(functionsOf(tokens.service)))
      expect(Environment.Variables).toMatchObject({ FHIR_TENANCY: 'on', FHIR_ACCESS: 'token' })
    const page = readFileSync('lambdas/docs/settings.md', 'utf8')
    for (const name of REFUSED) {
      expect(() => settingsOf({ service: { [name]: name === 'referentialIntegrity' ? 'on' : '1' } })).toThrow(name)
      expect(page).toContain(`\`${name}\``)
    }
  })
})

/** The URL with the stable names of the resources it refers to. */
const urlOf = (value: Tree | string): string =>
  typeof value === 'string'
    ? value
    : value['Fn::Join'][1]
        .map((part: Tree | string) => (typeof part === 'string' ? part.replace(/us-east-1|eu-central-1/, 'REGION') : partOf(part)))
        .join('')

const partOf = ({ Ref, 'Fn::GetAtt': got }: Tree): string => (got === undefined ? Ref : got[0].replace(/^.*(Distribution).*$/, '$1'))
