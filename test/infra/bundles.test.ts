/** The deployed code of the functions: content, size, start, and the files it loads. Made by `bin/app.ts`, as `cdk synth` runs it. */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { build, type Plugin } from 'esbuild'
import { ForkedExpressionRunner } from '../../lambdas/adapters/in-process/expression-runner.ts'
import { FUNCTIONS, type FunctionName, type PortName } from '../../lambdas/functions/functions.ts'
import { toBaseUnits } from '../../lambdas/search/types/ucum.ts'
import { BUILD_OPTIONS, buildOptionsOf, entryPointOf, findUnmatchedNames } from '../../lib/bundle.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { isFullRun } from '../fixtures/long-runs.ts'
import { assemblyOf, functionsOf, type Tree } from './assembly.ts'
import { BUNDLED_SETTINGS } from './bundled-settings.ts'

const folder = newFolder()
const assembly = await assemblyOf(BUNDLED_SETTINGS)
const readJson = (...path: string[]): Tree => JSON.parse(readFileSync(join(assembly, ...path), 'utf8'))
const functions = functionsOf(readJson('fhir-local-service.template.json'))
const names = Object.keys(FUNCTIONS) as FunctionName[]

const filesOf = (name: string): readonly string[] => readdirSync(join(assembly, 'bundles', name)).filter((file) => file.endsWith('.js'))
const sourcesOf = (name: string): readonly string[] =>
  filesOf(name).flatMap((file) => readJson('bundles', 'maps', `${file}.map`).sources as string[])
/** Sources in a file with an exported class of ours that extends another. One file of a process may throw an error and another describe it. */
const classesOf = (file: string): readonly string[] =>
  (readJson('bundles', 'maps', `${file}.map`).sources as string[])
    .filter((source) => source.includes('lambdas/') && source.endsWith('.ts'))
    .map((source) => source.slice(source.indexOf('lambdas/')))
    .filter((source) => /^export (?:abstract )?class \w+ extends /m.test(readFileSync(source, 'utf8')))
const sizeOf = (name: string): number => statSync(join(assembly, 'bundles', name, `${name}.js`)).size

/** Adapters of each port. Every function may contain the clock and the cipher of seals. */
const ADAPTERS: Readonly<Record<PortName, readonly string[]>> = {
  resources: ['dynamodb', 's3'],
  'own-definitions': ['dynamodb', 's3'],
  canonicals: ['dynamodb'],
  identifiers: ['dynamodb'],
  writer: ['dynamodb', 's3'],
  settler: ['dynamodb', 's3'],
  passes: ['dynamodb'],
  index: ['opensearch'],
  'conditional-searches': [],
  documents: ['opensearch', 's3'],
  rebuilding: ['opensearch'],
  blobs: ['s3'],
  progress: ['dynamodb'],
  definitions: ['dynamodb'],
  heartbeats: ['dynamodb'],
  pulse: ['dynamodb'],
  seal: ['dynamodb'],
  audit: ['dynamodb'],
  verification: ['dynamodb', 'https', 'kms'],
  persons: ['dynamodb', 's3'],
  conditions: ['dynamodb'],
  workflow: ['step-functions'],
  'published-keys': ['dynamodb', 'kms'],
  revoking: ['dynamodb'],
  guesses: ['dynamodb'],
  clients: ['dynamodb'],
  registrations: ['dynamodb'],
  users: ['dynamodb'],
  passwords: ['dynamodb'],
  // Clients may authenticate with keys that are fetched.
  grants: ['dynamodb', 'https'],
  signing: ['dynamodb', 'kms'],
  keys: ['dynamodb', 'kms'],
  jobs: ['dynamodb'],
  'job-list': ['dynamodb'],
  'job-rows': ['dynamodb'],
  schedules: ['dynamodb'],
  'old-schedules': ['dynamodb'],
  copies: ['s3'],
  'export-files': ['s3'],
  'removed-files': ['s3'],
  'match-requests': ['s3'],
  'start-exports': ['step-functions'],
  'stop-exports': ['step-functions'],
  'watch-exports': ['step-functions'],
  links: ['cloudfront'],
  'link-key': ['kms'],
  conformance: ['filesystem'],
  packages: ['s3'],
  'restored-tables': ['dynamodb'],
  'audit-archive': ['dynamodb', 's3'],
  disclosures: ['s3'],
}

describe('the code of a function', () => {
  it.each(names)('contains only the adapters of its ports: %s', (name) => {
    const adapters = sourcesOf(name).flatMap((source) => /lambdas\/adapters\/([\w-]+)\//.exec(source)?.[1] ?? [])
    const wanted = FUNCTIONS[name].ports.flatMap((port) => ADAPTERS[port])
    expect([...new Set(adapters)].filter((adapter) => adapter !== 'in-process').toSorted()).toEqual([...new Set(wanted)].toSorted())
  })

  it.each(names)('contains no runner of state machines: %s', (name) => {
    expect(sourcesOf(name).filter((source) => /aws-local-stepfunctions|in-process\/workflow/.test(source))).toEqual([])
  })

  it.each(names)('is an asset of its own, with the handler of its name: %s', (name) => {
    const { Code, Handler } = functions[name]
    const { files } = readJson('fhir-local-service.assets.json')
    const { source } = Object.values<Tree>(files).find(({ destinations }) => JSON.stringify(destinations).includes(Code.S3Key))
    expect(Handler).toBe(`${name}.handler`)
    const packages = FUNCTIONS[name].ports.includes('conformance') ? ['packages'] : []
    expect(readdirSync(join(assembly, source.path)).sort()).toEqual([...filesOf(name), 'package.json', ...packages].sort())
  })

  it('contains the rules of the stage for additional resources in exports', async () => {
    const carried = (text: string) =>
      ['$.subject.reference', '$.generalPractitioner[*].reference'].map((path) => text.includes(`"${path}"`))
    const textOf = (name: string) => readFileSync(join(assembly, 'bundles', name, `${name}.js`), 'utf8')
    expect(names.filter((name) => carried(textOf(name)).includes(true))).toEqual(['export', 'export-step', 'export-schedule'])
    for (const name of ['export', 'export-step', 'export-schedule']) expect(carried(textOf(name))).toEqual([true, false])
    const entryPoints = [{ in: './lambdas/functions/workers/export-step.ts', out: 'export-step' }]
    const { outputFiles } = await build({ ...buildOptionsOf(undefined), entryPoints, outdir: 'elsewhere' })
    expect(carried(outputFiles.find(({ path }) => path.endsWith('/export-step.js'))!.text).at(-1)).toBe(true)
  })

  it('is not built if a plugin or a later file matches no import', async () => {
    const entryPoints = [{ in: entryPointOf('read'), out: 'read' }]
    const { metafile } = await build({ ...buildOptionsOf(undefined), entryPoints, outdir: 'elsewhere' })
    // A read neither validates nor evaluates an expression of a client.
    expect(findUnmatchedNames(metafile, true)).toEqual(expect.arrayContaining(['profiles', 'ucum', 'programs', 'additional-resources']))
    expect(findUnmatchedNames(metafile, true)).not.toContain('errors')
  })

  it('converts units of measure as the sources do', async () => {
    const entryPoints = [{ in: './lambdas/search/types/ucum.ts', out: 'units' }]
    const { outputFiles } = await build({ ...buildOptionsOf(undefined), entryPoints, outdir: 'elsewhere' })
    const units = newFolder()
    cpSync(join(assembly, 'bundles', 'search'), units, { recursive: true })
    writeFileSync(join(units, 'units.js'), outputFiles.find(({ path }) => path.endsWith('/units.js'))!.text)
    const codes = ['mg', 'mL/min', '10*3/uL', 'Cel', '[lb_av]', 'nonsense']
    const script = `process.stdout.write(JSON.stringify(${JSON.stringify(codes)}.map((code) => require('./units.js').toBaseUnits(code, 5) ?? null)))`
    const converted = JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: units, encoding: 'utf8' }))
    expect(converted).toEqual(codes.map((code) => toBaseUnits(code, 5) ?? null))
    expect(converted.filter((each: unknown) => each !== null)).toHaveLength(5)
  })

  it('is small, and smallest for a read', () => {
    expect(sizeOf('read')).toBeLessThanOrEqual(450_000)
    expect(sizeOf('search')).toBeLessThanOrEqual(1_100_000)
    for (const name of names) expect([name, sizeOf(name) <= 1_600_000]).toEqual([name, true])
  })

  it('loads large parts from separate files, and profiles only for writes', () => {
    const later = [
      ...[
        'basis-profiles.js',
        'definitions.js',
        'errors.js',
        'expression-process.js',
        'expressions.js',
        'external-issuers.js',
        'fetch-document.js',
        'fhirpath-r4.js',
        'fhirpath.js',
      ],
      ...[
        'granular.js',
        'jwt-verifier.js',
        'listed-members.js',
        'member-versions.js',
        'page-templates.js',
        'partner-access.js',
        'person-patients.js',
        'public-read.js',
        's3-blob-store.js',
        'shaped-body.js',
        'tenant-index-state.js',
        'transfer-items.js',
        'ucum.js',
        'viewed-version.js',
      ],
    ]
    for (const name of ['read', 'search'] as const) expect(filesOf(name)).toEqual([...later, `${name}.js`].sort())
    expect(filesOf('create')).toEqual([...later, 'create.js', 'pinned-canonicals.js', 'profiles.js'].sort())
  })

  it.each(names)('contains each error class once: %s', (name) => {
    const inProcess = filesOf(name).filter((file) => file !== 'expression-process.js')
    const found = inProcess.flatMap((file) => classesOf(file).map((source) => ({ file, source })))
    expect(found.map(({ source }) => source)).toContain('lambdas/ports/faults.ts')
    const twice = Object.entries(Object.groupBy(found, ({ source }) => source)).filter(([, files = []]) => files.length > 1)
    expect(twice.map(([source, files = []]) => `${source}: ${files.map(({ file }) => file).join(', ')}`)).toEqual([])
  })

  it('needs at most ten kB for profiles while it writes without them', async () => {
    const contents =
      'export const [writeValidator, announcedCanonicalsOf, announcingWriter, definitionsOf, DynamoDbCanonicals, lazyS3Packages, tenantDefinitions, definitionIssuesOf] = []'
    const without: Plugin = {
      name: 'without-profiles',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: ABOUT_PROFILES }, ({ path }) => ({ path, namespace: 'without-profiles', sideEffects: false }))
        onLoad({ filter: /.*/, namespace: 'without-profiles' }, () => ({ contents }))
      },
    }
    const entryPoints = [{ in: './lambdas/functions/fhir/create.ts', out: 'create' }]
    const { outputFiles } = await build({
      ...BUILD_OPTIONS,
      plugins: [without, ...BUILD_OPTIONS.plugins],
      entryPoints,
      outdir: 'elsewhere',
    })
    const least = outputFiles.find(({ path }) => path.endsWith('/create.js'))!.contents.length
    expect(sizeOf('create') - least).toBeGreaterThan(1_000)
    expect(sizeOf('create') - least).toBeLessThanOrEqual(10_000)
  })

  it('is the same in every build', async () => {
    for (const name of isFullRun ? names : (['read', 'search'] as const)) {
      const entryPoints = [{ in: entryPointOf(name), out: name }]
      const { outputFiles } = await build({
        ...buildOptionsOf(BUNDLED_SETTINGS.exportAdditionalResources),
        entryPoints,
        outdir: 'elsewhere',
      })
      const again = outputFiles.find(({ path }) => path.endsWith(`/${name}.js`))!.text
      expect([name, again === readFileSync(join(assembly, 'bundles', name, `${name}.js`), 'utf8')]).toEqual([name, true])
    }
  })
})

describe('a function that starts', () => {
  /** Runs a separate process: `before`, then the file is loaded, then `after`. Its value is printed. */
  const started = (file: string, variables: object, after: string, before = ''): Tree => {
    const script = `;(async () => {
        ${before}
        const loaded = require(process.argv[1])
        return (${after})
      })().then((value) => { console.log('RESULT' + JSON.stringify(value)); process.exit() })`
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
    it.each(some)('loads only the files it needs and has a handler: %s', (name) => {
      const after = "{ handler: typeof loaded.handler, files: Object.keys(require.cache).map((file) => file.split('/').at(-1)) }"
      const files = [
        `${name}.js`,
        'errors.js',
        // Functions that validate need the definitions of R4.
        ...(VALIDATING.has(name) ? ['definitions.js'] : []),
        ...(name === 'validate' || name === 'apply-fhirpath' ? ['profiles.js'] : []),
        ...(access === 'token' && isVerifying(name) ? ['jwt-verifier.js'] : []),
      ]
      const { handler, files: found } = started(fileOf(name), { ...variablesOf(name), FHIR_ACCESS: access }, after)
      expect([handler, found.toSorted()]).toEqual(['function', files.toSorted()])
    })
  })

  it('contains the client of KMS only if it signs or publishes keys', () => {
    const carriers = names.filter((name) => sourcesOf(name).some((source) => source.includes('@aws-sdk/client-kms/')))
    expect(carriers.sort()).toEqual(['export-status', 'link-key', 'tend-keys', 'token'])
  })

  it('returns 401 without a token if tokens are required', () => {
    const event = { httpMethod: 'GET', resource: '/{type}/{id}', pathParameters: { type: 'Patient', id: '1' }, multiValueHeaders: {} }
    const variables = { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: 'batched' }
    expect(started(fileOf('read'), variables, `loaded.handler(${JSON.stringify({ ...event, ...SIGNED })})`).statusCode).toBe(401)
  })

  it('answers for the explorer without any service: its document, its files, and 404', () => {
    const eventOf = (proxy?: string) => ({
      httpMethod: 'GET',
      multiValueHeaders: {},
      ...(proxy === undefined ? { resource: '/explorer' } : { resource: '/explorer/{proxy+}', pathParameters: { proxy } }),
    })
    const after = `(async () => {
      const answer = (proxy) => loaded.handler({ ...${JSON.stringify(eventOf(''))}, pathParameters: { proxy } })
      const shell = await loaded.handler(${JSON.stringify(eventOf())})
      const names = [...shell.body.matchAll(/\\/explorer\\/assets\\/([^"]+)"/g)].map(([, name]) => name)
      const files = await Promise.all(names.map((name) => answer('assets/' + name)))
      return { shell, names, files, page: await answer('Patient/1'), unknown: await answer('assets/script-UNKNOWN.js') }
    })()`
    const { shell, names, files, page, unknown } = started(fileOf('explorer'), { ...variablesOf('explorer'), FHIR_TENANCY: 'on' }, after)
    expect([shell.statusCode, shell.headers['cache-control'], shell.isBase64Encoded]).toEqual([200, 'no-cache', false])
    expect(shell.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
    expect(shell.body).toContain('<meta name="fhir-base" content="https://example.org/fhir">')
    expect(shell.body).toContain('<meta name="fhir-deployment" content="AWS">')
    expect(shell.body).toContain('<meta name="fhir-tenant-claim" content="tenant">')
    expect([page.statusCode, page.body]).toEqual([200, shell.body])
    expect(names).toEqual([expect.stringMatching(/^style-\w+\.css$/), expect.stringMatching(/^script-\w+\.js$/)])
    for (const { statusCode, headers, body } of files)
      expect([statusCode, headers['cache-control'], body.length > 1_000]).toEqual([200, 'public, max-age=31536000, immutable', true])
    expect([unknown.statusCode, unknown.headers['cache-control']]).toEqual([404, 'no-store'])
  })

  it.each([
    ['no table responds', '', ['ready', 'lag'], 1],
    ['no heartbeat has arrived', 'EMPTY', ['ready', 'lag'], 0],
  ])('is not ready while %s, and checks once for several requests', (_, tables, members, reports) => {
    const after = `(async () => {
      const told = []
      console.error = (line) => told.push(JSON.parse(line))
      const event = { httpMethod: 'GET', resource: '/health', multiValueHeaders: {}, requestContext: { requestId: 'request-1' } }
      const answers = [await loaded.handler(event), await loaded.handler(event), await loaded.handler({ ...event, httpMethod: 'HEAD' })]
      return { answers, told }
    })()`
    const { answers, told } = started(fileOf('health'), variablesOf('health'), after, tables === 'EMPTY' ? EMPTY_TABLES : '')
    const [first, second, head] = answers
    expect(first).toMatchObject({ statusCode: 503, headers: { 'cache-control': 'no-store', 'x-request-id': 'request-1' } })
    const { ready, ...rest } = JSON.parse(first.body)
    expect([ready, Object.keys({ ready, ...rest })]).toEqual([false, members])
    expect(second).toEqual(first)
    expect([head.statusCode, head.body]).toEqual([503, ''])
    expect(told.map(({ requestId }: Tree) => requestId)).toEqual(Array.from({ length: reports }, () => 'request-1'))
  })

  const SIGNED = { requestContext: { identity: { userArn: 'arn:aws:iam::111111111111:user/a' } } }

  it('returns 403 if the gateway names no caller', () => {
    const event = { httpMethod: 'GET', resource: '/{type}/{id}', pathParameters: { type: 'Patient', id: '1' }, multiValueHeaders: {} }
    const variables = { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: 'batched', FHIR_ACCESS: 'iam' }
    expect(started(fileOf('read'), variables, `loaded.handler(${JSON.stringify(event)})`).statusCode).toBe(403)
  })

  it.each([
    ['no token', {}],
    ['garbage', { authorization: ['Bearer garbage'] }],
    ['a caller named by the gateway', SIGNED],
  ])('returns 401 with %s if tokens are required', (_, { requestContext, ...multiValueHeaders }: Tree) => {
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
  ])('responds without backing services, and logs unwritten audit records: %s', (durability, status) => {
    const event = {
      httpMethod: 'GET',
      resource: '/{type}/{id}',
      pathParameters: { type: 'Nothing', id: '1' },
      multiValueHeaders: {},
      ...SIGNED,
    }
    const { statusCode, body, told } = started(
      fileOf('read'),
      { ...variablesOf('read'), FHIR_AUDIT_DURABILITY: durability, FHIR_ACCESS: 'iam' },
      `(async () => {
        const told = []
        console.error = (line) => told.push(JSON.parse(line))
        return { ...(await loaded.handler(${JSON.stringify(event)})), told }
      })()`,
    )
    expect([statusCode, JSON.parse(body).resourceType]).toEqual([status, 'OperationOutcome'])
    const unwritten = told.flatMap((line: Tree) => line.unwritten ?? [])
    expect(unwritten).toEqual([expect.objectContaining({ interaction: 'read', status: 404, pk: expect.stringMatching(/^AUDIT#/) })])
  })

  it.each([
    ['off', []],
    ['enforce', ['profiles.js']],
  ])('writes, and with profile validation %s loads %j', (policy, files) => {
    const resource = {
      resourceType: 'Patient',
      id: 'a',
      meta: { profile: ['http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'] },
    }
    const patient = { ...resource, name: [{ family: 'A' }], gender: 'female', identifier: [{ system: 'https://example.org', value: '1' }] }
    const variables = { ...variablesOf('create'), FHIR_ACCESS: 'iam', FHIR_AUDIT_DURABILITY: 'batched', FHIR_VALIDATE_PROFILES: policy }
    const loadedThen = "Object.keys(require.cache).map((file) => file.split('/').at(-1))"
    const after = `{ status: (await loaded.handler(${JSON.stringify(asking('POST', '/{type}', patient))})).statusCode, files: ${loadedThen} }`
    const { status, files: found } = started(fileOf('create'), variables, after, EMPTY_TABLES + EMPTY_BUCKET)
    expect([status, found.filter((file: string) => file === 'profiles.js')]).toEqual([201, files])
  })

  describe('with a bucket that does not respond', () => {
    const patient = { resourceType: 'Patient', id: 'a', meta: { profile: ['https://example.org/own'] } }
    const put = { request: { method: 'POST', url: 'Patient' }, resource: patient }
    const expression = [
      { name: 'fhirPath', valueString: 'id' },
      { name: 'resource', resource: patient },
    ]
    it.each<[FunctionName, object]>([
      ['capabilities', asking('GET', '/metadata')],
      ['validate', asking('POST', '/{type}/$validate', patient)],
      ['apply-fhirpath', asking('POST', '/$apply-fhirpath', { resourceType: 'Parameters', parameter: expression })],
      ['create', asking('POST', '/{type}', patient)],
      ['bundle', asking('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry: [put] })],
    ])('returns 503 with Retry-After: %s', (name, asked) => {
      const variables = { ...variablesOf(name), FHIR_ACCESS: 'iam', FHIR_AUDIT_DURABILITY: 'batched', FHIR_VALIDATE_PROFILES: 'enforce' }
      const { statusCode, headers, body } = started(fileOf(name), variables, `loaded.handler(${JSON.stringify(asked)})`, EMPTY_TABLES)
      const { issue } = JSON.parse(body)
      expect([statusCode, headers['retry-after'], issue[0].code]).toEqual([503, '5', 'no-store'])
    })
  })

  it('finds the files it loads later', () => {
    const create = join(assembly, 'bundles', 'create')
    const later = `{
      s3: typeof (await import('${create}/s3-blob-store.js')).openS3BlobStore,
      units: require('${create}/ucum.js').UcumLhcUtils.getInstance().convertUnitTo('g', 1, 'mg').toVal,
      path: (await import('${create}/fhirpath.js')).default.evaluate({ resourceType: 'Patient', id: 'a' }, 'Patient.id', {}, (await import('${create}/fhirpath-r4.js')).default),
    }`
    const script = join(folder, 'later.cjs')
    writeFileSync(script, `module.exports = async () => (${later})`)
    expect(started(script, {}, 'await loaded()')).toEqual({ s3: 'function', units: 1000, path: ['a'] })
  })

  it('evaluates expressions of clients in a separate process', async () => {
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

  it('loads little more than the client of DynamoDB', async () => {
    const bare = join(folder, 'bare.js')
    const { outputFiles } = await build({
      ...BUILD_OPTIONS,
      stdin: { contents: BARE, resolveDir: BUILD_OPTIONS.absWorkingDir },
      outfile: 'bare.js',
    })
    writeFileSync(bare, outputFiles.find(({ path }) => path.endsWith('.js'))!.contents)
    const loaded = (file: string, variables: object): readonly string[] => started(file, variables, 'process.moduleLoadList')
    const ofClient = loaded(bare, {})
    expect(ofClient).toContain('NativeModule https')
    const more = loaded(fileOf('read'), variablesOf('read')).filter((name) => !ofClient.includes(name))
    expect(more.filter((name) => !/ internal\//.test(name))).toEqual(['NativeModule timers/promises'])
    expect(sizeOf('read')).toBeLessThanOrEqual(MOST * statSync(bare).size)
  })
})

const isVerifying = (name: FunctionName): boolean => name !== 'introspect' && FUNCTIONS[name].ports.includes('verification')

const VALIDATING: ReadonlySet<string> = new Set([
  ...['create', 'update', 'patch', 'delete', 'bundle', 'validate', 'apply-fhirpath', 'member-match'],
])

/** Modules that writing functions contain only for profiles. */
const ABOUT_PROFILES =
  /\/(?:write-validation|canonical-announcements|runtime\/definitions|store\/canonicals|lazy-packages|profile-findings)\.ts$|^\.\.\/definitions\.ts$/

/** Maximum size of a read, as a multiple of the bare client. */
const MOST = 1.9

const BARE = `import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
  export const client = new DynamoDBClient({ maxAttempts: 1 })
  export const get = (input) => client.send(new GetItemCommand(input))`

/** Event of the gateway for a signed request. */
function asking(httpMethod: string, resource: string, body?: object): object {
  return {
    ...{ httpMethod, resource, pathParameters: { type: 'Patient' }, body: body === undefined ? null : JSON.stringify(body) },
    multiValueHeaders: { 'content-type': ['application/fhir+json'] },
    requestContext: { identity: { userArn: 'arn:aws:iam::111111111111:user/a' } },
  }
}

/** Server of tables that contain only the key of seals. No other service responds. */
const EMPTY_TABLES = `
  const answer = { Items: [], Responses: {}, UnprocessedKeys: {}, UnprocessedItems: {} }
  const server = require('node:http').createServer(async (request, response) => {
    const { Key } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const item = Key?.pk.S === 'SEAL' ? { Item: { key: { B: Buffer.alloc(32).toString('base64') } } } : {}
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify({ ...answer, ...item }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  process.env.AWS_ENDPOINT_URL_DYNAMODB = 'http://127.0.0.1:' + server.address().port`

const EMPTY_BUCKET = `
  const bucket = require('node:http').createServer((request, response) =>
    response.writeHead(404, { 'content-type': 'application/xml' }).end('<Error><Code>NoSuchKey</Code></Error>'))
  await new Promise((resolve) => bucket.listen(0, '127.0.0.1', resolve))
  process.env.AWS_ENDPOINT_URL_S3 = 'http://127.0.0.1:' + bucket.address().port`

/** Variables that Lambda sets for every function. No server listens at the address. */
const PLATFORM = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
}

/** Values that only a deployment determines. */
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
