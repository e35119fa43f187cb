/** The code of the functions as it is deployed: what is in it, how large it is, that it starts, and what that loads. From `bin/app.ts`, as `cdk synth` runs it. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import { ForkedExpressionRunner } from '../../lambdas/adapters/in-process/expression-runner.ts'
import { FUNCTIONS, type FunctionName, type PortName } from '../../lambdas/functions/functions.ts'
import { OPTIONS, optionsWith } from '../../lib/bundle.ts'
import { synthesize } from '../cloud/assembly.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { functionsOf, type Tree } from './assembly.ts'

const folder = newFolder()
const RULE = { allowedForGroupExport: true, allowedForPatientExport: true, path: '$.subject.reference', resourceTypes: ['Location'] }
const exportAdditionalResources = { Observation: [RULE] }
const assembly = await synthesize({ folder, settings: { access: 'token', exportAdditionalResources } })
const readJson = (...path: string[]): Tree => JSON.parse(readFileSync(join(assembly, ...path), 'utf8'))
const functions = functionsOf(readJson('fhir-local-service.template.json'))
const names = Object.keys(FUNCTIONS) as FunctionName[]

const isFull = process.env.FHIR_TEST_FULL === '1'

const filesOf = (name: string): readonly string[] => readdirSync(join(assembly, 'bundles', name)).filter((file) => file.endsWith('.js'))
const sourcesOf = (name: string): readonly string[] =>
  filesOf(name).flatMap((file) => readJson('bundles', 'maps', `${file}.map`).sources as string[])
const sizeOf = (name: string): number => statSync(join(assembly, 'bundles', name, `${name}.js`)).size

/** The adapters a port is made of. Clock and seal's cipher are anybody's. */
const ADAPTERS: Readonly<Record<PortName, readonly string[]>> = {
  resources: ['dynamodb', 's3'],
  writer: ['dynamodb', 's3'],
  settler: ['dynamodb', 's3'],
  index: ['opensearch'],
  documents: ['opensearch', 's3'],
  rebuilding: ['opensearch'],
  blobs: ['s3'],
  progress: ['dynamodb'],
  definitions: ['dynamodb'],
  seal: ['dynamodb'],
  audit: ['dynamodb'],
  verification: ['dynamodb', 'https', 'kms'],
  conditions: ['dynamodb'],
  workflow: ['step-functions'],
  'published-keys': ['dynamodb', 'kms'],
  revoking: ['dynamodb'],
  clients: ['dynamodb'],
  users: ['dynamodb'],
  passwords: ['dynamodb'],
  // Beside them clients prove who they are, with keys that are fetched.
  grants: ['dynamodb', 'https'],
  signing: ['dynamodb', 'kms'],
  keys: ['dynamodb', 'kms'],
  jobs: ['dynamodb'],
  'job-rows': ['dynamodb'],
  schedules: ['dynamodb'],
  'old-schedules': ['dynamodb'],
  copies: ['s3'],
  'export-files': ['s3'],
  'removed-files': ['s3'],
  'start-exports': ['step-functions'],
  'stop-exports': ['step-functions'],
  'watch-exports': ['step-functions'],
  links: ['cloudfront'],
  'link-key': ['kms'],
  conformance: ['filesystem'],
  packages: ['s3'],
}

describe('the code of a function', () => {
  it.each(names)('%s carries the adapters of its ports, and no others', (name) => {
    const adapters = sourcesOf(name).flatMap((source) => /lambdas\/adapters\/([\w-]+)\//.exec(source)?.[1] ?? [])
    const wanted = FUNCTIONS[name].flatMap((port) => ADAPTERS[port])
    expect([...new Set(adapters)].filter((adapter) => adapter !== 'in-process').toSorted()).toEqual([...new Set(wanted)].toSorted())
  })

  it.each(names)('%s carries no runner of state machines', (name) => {
    expect(sourcesOf(name).filter((source) => /aws-local-stepfunctions|in-process\/workflow/.test(source))).toEqual([])
  })

  it.each(names)('%s is an asset of its own, whose handler is found by its name', (name) => {
    const { Code, Handler } = functions[name]
    const { files } = readJson('fhir-local-service.assets.json')
    const { source } = Object.values<Tree>(files).find(({ destinations }) => JSON.stringify(destinations).includes(Code.S3Key))
    expect(Handler).toBe(`${name}.handler`)
    const packages = FUNCTIONS[name].includes('conformance') ? ['packages'] : []
    expect(readdirSync(join(assembly, source.path)).sort()).toEqual([...filesOf(name), 'package.json', ...packages].sort())
  })

  it('carries what the stage says comes along in exports, in the place of the default', async () => {
    const carried = (text: string) =>
      ['$.subject.reference', '$.generalPractitioner[*].reference'].map((path) => text.includes(`"${path}"`))
    const textOf = (name: string) => readFileSync(join(assembly, 'bundles', name, `${name}.js`), 'utf8')
    expect(names.filter((name) => carried(textOf(name)).includes(true))).toEqual(['export-step'])
    expect(carried(textOf('export-step'))).toEqual([true, false])
    const entryPoints = [{ in: './lambdas/functions/export-step.ts', out: 'export-step' }]
    const { outputFiles } = await build({ ...optionsWith(undefined), entryPoints, outdir: 'elsewhere' })
    expect(carried(outputFiles.find(({ path }) => path.endsWith('/export-step.js'))!.text).at(-1)).toBe(true)
  })

  it('is small: a read starts often, a search has more to do', () => {
    expect(sizeOf('read')).toBeLessThanOrEqual(450_000)
    expect(sizeOf('search')).toBeLessThanOrEqual(1_100_000)
    for (const name of names) expect([name, sizeOf(name) <= 1_600_000]).toEqual([name, true])
  })

  it('loads the client of S3, the definitions of R4, units of measure, FHIRPath, conditions of scopes, what fetches and what verifies tokens from files of their own, and profiles where something is written', () => {
    const later = [
      ...['definitions.js', 'expression-process.js', 'expressions.js', 'fetch-document.js', 'fhirpath-r4.js', 'fhirpath.js'],
      ...['granular.js', 'jwt-verifier.js', 's3-blob-store.js', 'ucum.js'],
    ]
    for (const name of ['read', 'search'] as const) expect(filesOf(name)).toEqual([...later, `${name}.js`].sort())
    expect(filesOf('create')).toEqual([...later, 'create.js', 'profiles.js'].sort())
  })

  it('is the same however often it is made', async () => {
    for (const name of isFull ? names : (['read', 'search'] as const)) {
      const entryPoints = [{ in: `./lambdas/functions/${name}.ts`, out: name }]
      const { outputFiles } = await build({ ...optionsWith(exportAdditionalResources), entryPoints, outdir: 'elsewhere' })
      const again = outputFiles.find(({ path }) => path.endsWith(`/${name}.js`))!.text
      expect([name, again === readFileSync(join(assembly, 'bundles', name, `${name}.js`), 'utf8')]).toEqual([name, true])
    }
  })
})

describe('a function that starts', () => {
  /** In a process of its own; `after` is done when it has loaded, and what it gives is printed. */
  const started = (file: string, variables: object, after: string): Tree => {
    const script = `const loaded = require(process.argv[1])
      ;(async () => (${after}))().then((value) => { console.log('RESULT' + JSON.stringify(value)); process.exit() })`
    const environment = { PATH: process.env.PATH, ...PLATFORM, ...variables }
    const printed = execFileSync(process.execPath, ['-e', script, file], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
    return JSON.parse(printed.toString().split('RESULT')[1]!)
  }

  const fileOf = (name: string): string => join(assembly, 'bundles', name, `${name}.js`)
  const variablesOf = (name: string): object =>
    Object.fromEntries(
      Object.entries(functions[name].Environment.Variables).map(([key, value]) => [
        key,
        typeof value === 'string' ? value : PLACEHOLDERS[key],
      ]),
    )

  describe.each([
    ['iam', ['read', 'search', 'create']],
    ['token', names],
  ] as const)('of a stage with access %s', (access, some) => {
    it.each(some)('%s loads no more than it needs, and has a handler', (name) => {
      const after = "{ handler: typeof loaded.handler, files: Object.keys(require.cache).map((file) => file.split('/').at(-1)) }"
      const files = [
        `${name}.js`,
        // Those validate, which takes the definitions of R4.
        ...(VALIDATING.has(name) ? ['definitions.js'] : []),
        ...(name === 'validate' || name === 'apply-fhirpath' ? ['profiles.js'] : []),
        ...(access === 'token' && isVerifying(name) ? ['jwt-verifier.js'] : []),
      ]
      const { handler, files: found } = started(fileOf(name), { ...variablesOf(name), FHIR_ACCESS: access }, after)
      expect([handler, found.toSorted()]).toEqual(['function', files.toSorted()])
    })
  })

  it('carries the client of KMS only where there is no other way: who signs, and who tells of keys', () => {
    const carriers = names.filter((name) => sourcesOf(name).some((source) => source.includes('@aws-sdk/client-kms/')))
    expect(carriers.sort()).toEqual(['export-status', 'link-key', 'tend-keys', 'token'])
  })

  it('answers nobody without a token where tokens are wanted', () => {
    const event = { httpMethod: 'GET', resource: '/{type}/{id}', pathParameters: { type: 'Patient', id: '1' }, multiValueHeaders: {} }
    const variables = { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: 'batched' }
    expect(started(fileOf('read'), variables, `loaded.handler(${JSON.stringify({ ...event, ...SIGNED })})`).statusCode).toBe(401)
  })

  const SIGNED = { requestContext: { identity: { userArn: 'arn:aws:iam::111111111111:user/a' } } }

  it('answers nobody of whom the gateway says nothing', () => {
    const event = { httpMethod: 'GET', resource: '/{type}/{id}', pathParameters: { type: 'Patient', id: '1' }, multiValueHeaders: {} }
    const variables = { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: 'batched', FHIR_ACCESS: 'iam' }
    expect(started(fileOf('read'), variables, `loaded.handler(${JSON.stringify(event)})`).statusCode).toBe(403)
  })

  it.each([
    ['no token', {}],
    ['garbage', { authorization: ['Bearer garbage'] }],
    ['a name of the gateway', SIGNED],
  ])('with tokens, answers nobody with %s', (_, { requestContext, ...multiValueHeaders }: Tree) => {
    const event = {
      httpMethod: 'GET',
      resource: '/{type}/{id}',
      pathParameters: { type: 'Patient', id: '1' },
      multiValueHeaders,
      requestContext,
    }
    const variables = { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: 'batched', FHIR_ACCESS: 'token' }
    const { statusCode, headers } = started(fileOf('read'), variables, `loaded.handler(${JSON.stringify(event)})`)
    expect([statusCode, headers['www-authenticate'].split(',')[0]]).toEqual([401, 'Bearer realm="fhir"'])
  })

  it.each([
    ['batched', 404],
    ['strict', 503],
  ])('answers, also where nothing it needs answers, with %s audit records', (durability, status) => {
    const event = {
      httpMethod: 'GET',
      resource: '/{type}/{id}',
      pathParameters: { type: 'Nothing', id: '1' },
      multiValueHeaders: {},
      ...SIGNED,
    }
    const { statusCode, body } = started(
      fileOf('read'),
      { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: durability, FHIR_ACCESS: 'iam' },
      `loaded.handler(${JSON.stringify(event)})`,
    )
    expect([statusCode, JSON.parse(body).resourceType]).toEqual([status, 'OperationOutcome'])
  })

  it('finds what it loads later', () => {
    const later = `{
      s3: typeof (await import('./s3-blob-store.js')).openS3BlobStore,
      units: require('./ucum.js').UcumLhcUtils.getInstance().convertUnitTo('g', 1, 'mg').toVal,
      path: (await import('./fhirpath.js')).default.evaluate({ resourceType: 'Patient', id: 'a' }, 'Patient.id', {}, (await import('./fhirpath-r4.js')).default),
    }`
    const script = join(assembly, 'bundles', 'create', 'later.js')
    writeFileSync(script, `module.exports = async () => (${later})`)
    expect(started(script, {}, 'await loaded()')).toEqual({ s3: 'function', units: 1000, path: ['a'] })
  })

  it('evaluates expressions of clients on a process of its own', async () => {
    const program = join(assembly, 'bundles', 'create', 'expression-process.js')
    const runner = new ForkedExpressionRunner({ program })
    const resource = '{"resourceType":"Patient","id":"a"}'
    const outcomes = await runner.evaluate([{ expression: 'Patient.id.repeat($this)', type: 'Patient', resource }], {
      each: 250,
      all: 250,
      overruns: 1,
    })
    runner.close()
    expect(outcomes).toEqual([{ ms: expect.any(Number), values: [{ type: 'string', value: 'a' }] }])
  })

  it('loads little more than the client of DynamoDB by itself', async () => {
    const bare = join(folder, 'bare.js')
    const { outputFiles } = await build({ ...OPTIONS, stdin: { contents: BARE, resolveDir: OPTIONS.absWorkingDir }, outfile: 'bare.js' })
    writeFileSync(bare, outputFiles.find(({ path }) => path.endsWith('.js'))!.contents)
    const loaded = (file: string, variables: object): readonly string[] => started(file, variables, 'process.moduleLoadList')
    const ofClient = loaded(bare, {})
    expect(ofClient).toContain('NativeModule https')
    const more = loaded(fileOf('read'), variablesOf('read')).filter((name) => !ofClient.includes(name))
    expect(more.filter((name) => !/ internal\//.test(name))).toEqual(['NativeModule timers/promises'])
    expect(sizeOf('read')).toBeLessThanOrEqual(MOST * statSync(bare).size)
  })
})

const isVerifying = (name: FunctionName): boolean => name !== 'introspect' && FUNCTIONS[name].includes('verification')

const VALIDATING: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'bundle', 'validate', 'apply-fhirpath'])

/** Of a read's bytes to those of the bare client. */
const MOST = 2.05

const BARE = `import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
  export const client = new DynamoDBClient({ maxAttempts: 1 })
  export const get = (input) => client.send(new GetItemCommand(input))`

/** As Lambda gives them to every function; nobody is at the address. */
const PLATFORM = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
}

/** For what only a deployment knows. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  FHIR_BASE_URL: 'https://example.org/fhir',
  FHIR_SEARCH_ENDPOINT: 'http://127.0.0.1:9',
  FHIR_TABLE: 'resources',
  FHIR_STATE_TABLE: 'state',
  FHIR_BUCKET: 'bucket',
  FHIR_REBUILD_WORKFLOW: 'arn:aws:states:us-east-1:000000000000:stateMachine:rebuild',
  FHIR_EXPORT_BUCKET: 'exports',
  FHIR_EXPORT_ORIGIN: 'https://example.org',
  FHIR_EXPORT_WORKFLOW: 'arn:aws:states:us-east-1:000000000000:stateMachine:export',
  FHIR_LINK_KEY: 'key',
  FHIR_LINK_KEY_PAIR: 'pair',
}
