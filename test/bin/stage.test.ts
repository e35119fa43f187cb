/** `fhir client`, `user`, `keys` and `package` on a deployed stage: emulated stores, located by the outputs of the deployment. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, describe, expect, it } from '@jest/globals'
import { DynamoDbAuditLog } from '../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { DynamoDbClients, DynamoDbUsers } from '../../lambdas/adapters/dynamodb/rows/registered.ts'
import { DynamoDbRevocations } from '../../lambdas/adapters/dynamodb/rows/revocations.ts'
import { DynamoDbSharedRows } from '../../lambdas/adapters/dynamodb/rows/shared-rows.ts'
import { DynamoDbCanonicals } from '../../lambdas/adapters/dynamodb/store/canonicals.ts'
import { DynamoDbResourceStore } from '../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../lambdas/adapters/dynamodb/table-client.ts'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { S3AuditArchive } from '../../lambdas/adapters/s3/audit-archive.ts'
import { S3Packages } from '../../lambdas/adapters/s3/packages.ts'
import { Passwords } from '../../lambdas/auth/login/passwords.ts'
import { fingerprintOf } from '../../lambdas/auth/random-secret.ts'
import { finishRebuild, withSearchParameter } from '../../lambdas/indexing/custom-definitions.ts'
import { allowPackages, registerPackages, removeUnknownPackages } from '../../lambdas/indexing/lifecycle/registered-packages.ts'
import type { ServingSummary } from '../../lambdas/indexing/lifecycle/serving-summary.ts'
import { openIndexState } from '../../lambdas/indexing/lifecycle/shared-index-state.ts'
import { withDefinitions } from '../../lambdas/indexing/lifecycle/state.ts'
import { INDEX_STATE, NO_STORED_STATE, type StoredState } from '../../lambdas/indexing/lifecycle/stored-state.ts'
import { withPackageParameters } from '../../lambdas/indexing/package-parameters.ts'
import { announcingWriter } from '../../lambdas/interactions/writing/canonical-announcements.ts'
import { archiveStream } from '../../lambdas/runtime/aws/audit-archive.ts'
import { resolvePackageParameters } from '../../lambdas/search/custom/package-parameters.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { auditItemsOf, auditStreamRecord } from '../fixtures/audit-stream.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import { COLORS_VALUE_SET, GUIDE_NAME, guideFilesOf, writeArchiveFile } from '../fixtures/packages.ts'
import { blockOf } from '../fixtures/pages.ts'
import { createMemoryBucket } from '../fixtures/s3.ts'
import { serveBucket } from '../fixtures/s3-server.ts'
import { createVersionedBucket, serveVersions } from '../fixtures/versioned-bucket.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'
import type { ProcessResult } from './process.ts'

const program = fileURLToPath(new URL('../../bin/fhir.js', import.meta.url))

await runOnDynamo(async (engine) => {
  const folder = newFolder()
  mkdirSync(join(folder, '.fhir'))
  /** Returns the name of the stage's table. `ResourceTableName`: name of the table of its resources. */
  async function newStage(name: string, ResourceTableName = `${name}-resources`): Promise<string> {
    const StateTableName = await engine.newTable()
    const outputs = { StateTableName, ResourceTableName, BucketName: 'b' }
    writeFileSync(join(folder, '.fhir', `${name}.json`), JSON.stringify({ [`fhir-${name}-data`]: outputs }))
    return StateTableName
  }
  const table = await newStage('test', await engine.newTable())
  writeFileSync(join(folder, '.fhir', 'old.json'), JSON.stringify({ 'fhir-old-data': { StateTableName: table } }))
  writeFileSync(join(folder, '.fhir', 'empty.json'), JSON.stringify({ 'fhir-empty-service': {} }))
  const bucket = createMemoryBucket(() => Date.now())
  const environment = {
    AWS_ENDPOINT_URL_S3: await serveBucket(bucket.client),
    ...{ AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    ...(process.env.KMS_ENDPOINT === undefined ? {} : { AWS_ENDPOINT_URL_KMS: process.env.KMS_ENDPOINT }),
  }
  const dynamoOf = (name: string) => new TableClient(engine.client, name, { attempts: 3, patience: 60_000 })
  const users = new DynamoDbUsers(dynamoOf(table))
  afterAll(() => engine.stop())

  const fhir = (input: string, ...args: readonly string[]): Promise<ProcessResult> => run(input, environment, args)
  const fhirOn = (others: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<ProcessResult> =>
    run('', { ...environment, ...others }, args)

  function run(input: string, variables: Readonly<Record<string, string>>, args: readonly string[]): Promise<ProcessResult> {
    const child = spawn(process.execPath, [program, ...args], { cwd: folder, env: { ...process.env, ...variables } })
    let [out, err] = ['', '']
    child.stdout.on('data', (data) => (out += data))
    child.stderr.on('data', (data) => (err += data))
    child.stdin.end(input)
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
  }

  describe('On a deployed stage', () => {
    it('clients are registered, listed, updated and removed', async () => {
      const own = await newStage('clients')
      const clients = new DynamoDbClients(dynamoOf(own))
      const revocations = new DynamoDbRevocations(dynamoOf(own), () => Date.now())
      const [asThePageSays = ''] = blockOf('npm run fhir -- client add reporting ')
      const words = asThePageSays.replace('npm run fhir -- ', '').replace('STAGE', 'clients').replaceAll("'", '').split(' ')
      expect((await fhir('', ...words)).code).toBe(0)
      expect((await clients.get('reporting'))?.scopes).toEqual(['system/*.rs'])
      expect((await fhir('', 'client', 'remove', 'reporting', '--stage', 'clients')).code).toBe(0)
      const added = await fhir('', 'client', 'add', 'app', '--secret', '--scope', 'system/*.rs', '--json', '--stage', 'clients')
      const { client_secret: secret } = JSON.parse(added.out) as { readonly client_secret: string }
      expect((await clients.get('app'))?.authentication).toEqual({ kind: 'secret', hashes: [fingerprintOf(secret)] })
      expect((await fhir('', 'client', 'list', '--stage', 'clients')).out).toMatch(/^app +a secret +default +system\/\*\.rs$/m)
      const narrowed = await fhir('', 'client', 'update', 'app', '--scope', 'system/Patient.rs', '--stage', 'clients')
      expect([narrowed.code, (await clients.get('app'))?.scopes]).toEqual([0, ['system/Patient.rs']])
      expect((await fhir('', 'client', 'remove', 'app', '--stage', 'clients')).code).toBe(0)
      const { Items = [] } = await engine.client.send(new ScanCommand({ TableName: own }))
      const records = Items.filter(({ pk }) => String(pk).startsWith('AUDIT#'))
      expect(records.map(({ interaction }) => interaction).toSorted()).toEqual([
        ...Array(2).fill('client add'),
        ...Array(2).fill('client remove'),
        'client update',
      ])
      expect([await clients.list(), (await revocations.revoked(['client:app'])).size]).toEqual([[], 1])
    })

    it('an app launch is recorded, without a check that the patient exists', async () => {
      const app = ['client', 'add', 'app', '--public', '--scope', 'launch', '--redirect-uri', 'https://a.example/']
      expect((await fhir('', ...app, '--stage', 'test')).code).toBe(0)
      const launched = await fhir('', 'launch', '--client', 'app', '--patient', 'p', '--stage', 'test')
      expect([launched.err, launched.out]).toEqual(['', expect.stringMatching(/^[\w-]{43}\n$/)])
      expect(await fhir('', 'launch', '--client', 'nobody', '--stage', 'test')).toEqual({
        code: 1,
        out: '',
        err: 'fhir: There is no client nobody\n',
      })
      const { Items = [] } = await engine.client.send(new ScanCommand({ TableName: table }))
      const launches = Items.filter(({ pk, interaction }) => String(pk).startsWith('AUDIT#') && interaction === 'launch')
      expect(launches).toEqual([expect.objectContaining({ client: 'app', patient: 'p', status: 200, outcome: 'done' })])
      const audit = await fhir('', 'audit', '--patient', 'p', '--since', '10m', '--json', '--stage', 'test')
      expect(JSON.parse(audit.out)).toMatchObject({ interaction: 'launch', client: 'app', patient: 'p', status: 200 })
    })

    it('transfers of patient data to apps are counted', async () => {
      const own = await newStage('counted')
      const newId = () => crypto.randomUUID()
      const dynamo = dynamoOf(own)
      const log = new DynamoDbAuditLog({ dynamo, retentionDays: 90, newId, durability: 'strict', onError: () => undefined })
      const record = {
        requestId: 'r',
        tenant: 'default',
        client: 'app',
        transfer: true,
        interaction: 'read',
        status: 200,
        duration: 1,
      } as const
      for (const [patient, day] of [['1', '2026-01-31'], ['1', '2026-02-01'], ['2', '2026-02-01'], ['2', '2025-12-31']] as const) // biome-ignore format: one line
        await log.record({ ...record, patient, at: Date.parse(day) })
      const { out, err } = await fhir('', 'usage', '--year', '2026', '--json', '--stage', 'counted')
      const month = (month: string, enrollees: number) => ({ month, enrollees, repeated: 0, apps: 1 })
      const patientAccess = { enrollees: 2, repeated: 1, apps: 1, months: [month('2026-01', 1), month('2026-02', 2)] }
      expect([JSON.parse(out), err]).toEqual([{ year: 2026, by: 'day', patientAccess, partners: [] }, ''])
    })

    it('audit records are read from the archive, and those of the table that are not in it', async () => {
      const StateTableName = await newStage('archived')
      const outputs = { 'fhir-archived-data': { StateTableName, AuditBucketName: 'audit' } }
      writeFileSync(join(folder, '.fhir', 'archived.json'), JSON.stringify(outputs))
      const archive = createVersionedBucket()
      const entry = { tenant: 'default', interaction: 'read', key: 'Patient/1', status: 200, duration: 1 }
      const now = Date.now()
      const old = Date.UTC(2024, 1, 28, 12)
      const times = { old, archived: now - 120_000, both: now - 60_000, unarchived: now - 1_000 }
      const records = Object.entries(times).map(([requestId, at]) => ({ ...entry, requestId, at }))
      // The command does not look for records in the table that have expired there.
      const expired = { ...entry, requestId: 'expired', at: old }
      const page = { ...entry, requestId: 'page', at: old + 1, tenant: '', key: 'x', patients: ['default/Patient/1'] }
      const items = await auditItemsOf([page, ...records, expired])
      await dynamoOf(StateTableName).putAll(items.slice(3))
      await archiveStream(new S3AuditArchive(archive.client, 'audit'))({
        Records: items.slice(0, 4).map((item) => auditStreamRecord(item)),
      })
      const url = await serveVersions(archive)
      const print = async (...args: readonly string[]) => {
        const { code, out, err } = await fhirOn({ AWS_ENDPOINT_URL_S3: url }, 'audit', '--stage', 'archived', '--json', ...args)
        const ids = out.trimEnd().split('\n').map((line) => JSON.parse(line || '{}').requestId) // biome-ignore format: one line
        return { code, ids, err }
      }
      expect(await print('--patient', '1', '--since', '3m')).toEqual({ code: 0, ids: ['archived', 'both', 'unarchived'], err: '' })
      const begins = 'fhir: the archive of the stage begins on 2024-02-28. Earlier records are removed after 90 days\n'
      const since = ['--since', '2024-02-27', '--until', '2024-03-01', '--tenant', 'default']
      expect(await print(...since)).toEqual({ code: 0, ids: ['old'], err: begins })
      expect(await print(...since, '--patient', '1')).toEqual({ code: 0, ids: ['old', 'page'], err: begins })
    })

    it('users are added with a password', async () => {
      expect((await fhir('correct horse\n', 'user', 'add', 'alice', '--scope', 'user/*.rs', '--stage', 'test')).code).toBe(0)
      expect(await new Passwords().check('correct horse', (await users.get('alice'))?.password)).toBe(true)
    })

    it('keys are listed, and rotated where there is KMS', async () => {
      expect((await fhir('', 'keys', 'list', '--stage', 'test')).out).toContain('There are no keys')
      if (process.env.KMS_ENDPOINT === undefined) return
      for (const said of ['from now on', 'in ten minutes'])
        expect((await fhir('', 'keys', 'rotate', '--stage', 'test')).out).toContain(said)
      expect((await fhir('', 'keys', 'list', '--stage', 'test')).out.trim().split('\n')).toHaveLength(3)
    })

    it('packages are added concurrently, listed, removed and recorded', async () => {
      const label = `${GUIDE_NAME}@1.0.0`
      const values = { 'package/package.json': { name: 'example.colors', version: '1.0.0' }, 'package/colors.json': COLORS_VALUE_SET }
      const files = [await writeArchiveFile(guideFilesOf('1.0.0')), await writeArchiveFile(values)]
      const added = await Promise.all(files.map((file) => fhir('', 'package', 'add', file, '--stage', 'test')))
      expect(added.map(({ code, err }) => [code, err])).toEqual([
        [0, ''],
        [0, ''],
      ])
      expect(await fhir('', 'package', 'add', files[0]!, '--stage', 'test')).toMatchObject({
        code: 1,
        err: `fhir: ${GUIDE_NAME} 1.0.0 is already added\n`,
      })
      const list = async () => (await fhir('', 'package', 'list', '--stage', 'test')).out
      expect(await list()).toMatch(/us-value-sets .* built in\nexample\.colors +1\.0\.0 +0 +1 +0\nexample\.guide +1\.0\.0 +2 +0 +0\n$/)
      bucket.objects.delete([...bucket.objects.keys()].find((key) => key.endsWith('/Basic.json'))!)
      expect(await list()).toMatch(/example\.guide +1\.0\.0 +damaged: remove it, and add it again\n$/)
      expect((await fhir('', 'package', 'remove', label, '--stage', 'test')).out).toBe(`${GUIDE_NAME} 1.0.0 is removed\n`)
      expect([...bucket.objects.keys()].filter((key) => key.includes(GUIDE_NAME))).toEqual([])
      const { Items = [] } = await engine.client.send(new ScanCommand({ TableName: table }))
      const records = Items.filter(({ pk, key }) => String(pk).startsWith('AUDIT#') && key === label)
      expect(records.map(({ interaction, outcome }) => [interaction, outcome]).toSorted()).toEqual([
        ['package add', 'done'],
        ['package remove', 'done'],
      ])
      expect((await fhir('', 'package', 'list', '--stage', 'old')).err).toBe(
        'fhir: .fhir/old.json does not name the bucket: deploy the stage again\n',
      )
    })

    const indexStateIn = (stateTable: string) =>
      openIndexState(new DynamoDbSharedRows<StoredState, ServingSummary>(dynamoOf(stateTable), INDEX_STATE, NO_STORED_STATE), Date.now)

    it('search parameters of packages are listed with their state in the index', async () => {
      const state = indexStateIn(await newStage('indexed', await engine.newTable()))
      const definition = {
        ...{ resourceType: 'SearchParameter', url: 'http://example.org/p', status: 'active', code: 'own', base: ['Basic'] },
        ...{ type: 'reference', expression: 'Basic.subject' },
      }
      const label = { name: 'example.searched', version: '1.0.0' }
      const file = await writeArchiveFile({ 'package/package.json': label, 'package/SearchParameter-p.json': definition })
      expect((await fhir('', 'package', 'add', file, '--stage', 'indexed')).code).toBe(0)
      const listed = async () => (await fhir('', 'package', 'list', '--stage', 'indexed')).out.match(/example\.searched .*/)?.[0]
      expect(await listed()).toMatch(/ 1 building$/)
      const parameters = resolvePackageParameters([{ ...label, parameters: [definition as never] }])
      const mappings = parameters.flatMap((each) => each.mappings)
      await state.change((each) => withDefinitions(each, (before) => withPackageParameters(before, mappings, 1)))
      expect(await listed()).toMatch(/ 1 building$/)
      await state.change((each) => withDefinitions(each, (before) => finishRebuild(before, before.rebuilds[0]!)))
      expect(await listed()).toMatch(/ 1 searched$/)
      const list = (await new S3Packages({ bucket: 'b', client: bucket.client, now: Date.now }).now()).state
      await state.change((each) => registerPackages(allowPackages(removeUnknownPackages(each, false, 1)), [], list, 1))
      expect(await listed()).toMatch(/ 1 refused$/)
      await state.change((each) => registerPackages({ ...each, packageList: '' }, mappings, list, 1))
      expect((await state.read()).value.definitions.map(({ id }) => id)).toEqual(['http://example.org/p'])
      expect((await fhir('', 'package', 'remove', 'example.searched', '--stage', 'indexed')).code).toBe(0)
      expect((await state.read()).value.definitions).toEqual([])
    })

    it('definitions of tenants with the codes and canonical URLs of a package are named', async () => {
      const resourceTable = await engine.newTable()
      const state = indexStateIn(await newStage('defining', resourceTable))
      const parameter = (url: string, expression: string) => ({
        ...{ resourceType: 'SearchParameter', url, status: 'active', code: 'own', base: ['Basic'], type: 'reference', expression },
      })
      const body = parameter('http://example.org/older', 'Basic.author')
      const older = versionOf(writeOf(resourceKeyOf('t', 'SearchParameter', 'older'), { body }))
      await state.change((each) => withDefinitions(each, (before) => withSearchParameter(before, older)))
      const clock = { now: () => Date.now(), newId: () => randomUUID() }
      const blobs = new FilesystemBlobStore(newFolder())
      const store = new DynamoDbResourceStore({ client: engine.client, table: resourceTable, blobs, clock })
      const notes = new DynamoDbCanonicals({ dynamo: dynamoOf(resourceTable), clock, keptFor: 0 })
      const colors = writeOf(resourceKeyOf('t', 'ValueSet', 'colors'), { body: COLORS_VALUE_SET, lastUpdated: Date.now() })
      await announcingWriter({ writer: store, resources: store, notes, report: failOnReport }).commit([colors], [])
      const file = await writeArchiveFile({
        'package/package.json': { name: 'example.defining', version: '1.0.0' },
        'package/SearchParameter-p.json': parameter('http://example.org/p', 'Basic.subject'),
        'package/colors.json': COLORS_VALUE_SET,
      })
      const { out, err } = await fhir('', 'package', 'add', '--dry-run', file, '--stage', 'defining')
      expect(out).toContain('To be indexed again while searches continue: Basic\n')
      expect(err.trim().split('\n')).toEqual([
        'fhir: the tenant t defines Basic?own itself (SearchParameter/older): the tenant keeps searching by its own',
        `fhir: the tenant t defines ${COLORS_VALUE_SET.url} itself (ValueSet/colors): validation uses that of the package`,
      ])
    })

    it.each([
      ['none', 'fhir: There is no .fhir/none.json, which npm run deploy writes: run it, or copy the file from where it was run\n'],
      ['empty', 'fhir: .fhir/empty.json does not name the table of state: deploy the stage again\n'],
      [
        '../x',
        'fhir: "../x" is not a valid stage name. It must start with a letter and have at most 20 characters: a to z, 0 to 9 and -\n',
      ],
    ])('a stage that is not deployed is reported: %s', async (stage, err) => {
      expect(await fhir('', 'client', 'list', '--stage', stage)).toEqual({ code: 1, out: '', err })
    })

    it('--stage cannot be combined with --data', async () => {
      const { code, err } = await fhir('', 'client', 'list', '--stage', 'test', '--data', 'x')
      expect([code, err.includes("option '--stage <name>' cannot be used with option '--data <folder>'")]).toEqual([1, true])
    })
  })
})
