/** `fhir backup` and `fhir restore` with an address in S3: of a data folder, also while its server runs, and into a stage. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { QueryCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, describe, expect, it } from '@jest/globals'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { commitAll, savedWrites, versionsIn } from '../fixtures/backups.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { TestTable } from '../fixtures/dynamodb/store.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { blockOf } from '../fixtures/pages.ts'
import { serveBlobs } from '../fixtures/s3-blobs-server.ts'
import { fetchJson, type ProcessResult, startOpenServer } from './process.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/fhir.js')

const blobs = new MemoryBlobs()
const environment = {
  ...{ ...process.env, AWS_ENDPOINT_URL_S3: await serveBlobs(blobs), AWS_REGION: 'us-east-1' },
  ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
}

function run(cwd: string, env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<ProcessResult> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd, env: { ...environment, ...env } })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => (out += data))
  child.stderr.on('data', (data) => (err += data))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

const fhir = (...args: readonly string[]): Promise<ProcessResult> => run('.', {}, ...args)

describe('fhir backup and fhir restore in S3', () => {
  it('save the resources of a running server, and restore them there and in a new folder', async () => {
    const [data, other] = [newFolder(), join(newFolder(), 'new')]
    const server = await startOpenServer('--data', data)
    const headers = { 'content-type': 'application/fhir+json' }
    const put = (active: boolean) =>
      fetch(`${server.base}/Patient/a`, { method: 'PUT', body: JSON.stringify({ resourceType: 'Patient', id: 'a', active }), headers })
    await put(true)
    await put(false)
    const saved = await fhir('backup', 's3://bucket/monday/', '--data', data)
    expect(saved).toEqual({
      code: 0,
      out: `${data} is saved in s3://bucket/monday/: 2 versions of 1 resource, 0 deletions\n`,
      err: '2 versions of 1 resource, 0 deletions saved\n',
    })
    await put(true)
    const { code, out, err } = await fhir('restore', 's3://bucket/monday', '--data', data)
    expect([code, out, err]).toEqual([0, expect.stringContaining('its server goes on with it'), err])
    expect(err).toBe('2 versions of 1 resource, 0 deletions restored, of 2 versions\n')
    expect((await fetchJson(`${server.base}/Patient?active=false`)).total).toBe(1)
    const history = await fetchJson(`${server.base}/Patient/a/_history`)
    expect(history.entry).toHaveLength(2)
    await server.stop()
    expect(readdirSync(data).filter((name) => /unfinished|restored/.test(name))).toEqual([])
    expect((await fhir('restore', 's3://bucket/monday', '--data', other)).code).toBe(0)
    const again = await startOpenServer('--data', other)
    expect((await fetchJson(`${again.base}/Patient/a/_history`)).entry.map(({ resource }: { resource: object }) => resource)).toEqual(
      history.entry.map(({ resource }: { resource: object }) => resource),
    )
    await again.stop()
  })

  it.each([
    [['backup', 's3://bucket/monday', '--all'], '--all writes a folder: S3 gets the resources only'],
    [['backup', 's3://'], 's3:// names no bucket: s3://BUCKET/PREFIX'],
    [['backup', 's3:/bucket/x'], 's3:/bucket/x names no bucket: s3://BUCKET/PREFIX'],
    [['backup', 's3://bucket/a b'], 's3://bucket/a b cannot be used: a key has 1 to 900 characters'],
    [['backup', 'monday', '--stage', 'dev'], 'A stage is saved in S3: s3://BUCKET/PREFIX in place of monday'],
    [['restore', 'monday', '--stage', 'dev'], 'A stage is restored from S3: s3://BUCKET/PREFIX in place of monday'],
    [['backup', 's3://bucket/x', '--stage', 'dev', '--data', 'x'], "option '--stage <name>' cannot be used with option '--data <folder>'"],
    [['backup', 's3://bucket/x', '--stage', 'none'], 'There is no .fhir/none.json'],
    [['restore', 's3://bucket/none'], 's3://bucket/none/manifest.json: does not exist: there is no backup'],
  ])('%j fails and says why', async (words, reason) => {
    const { code, err } = await run(newFolder(), {}, ...words)
    expect([code, err]).toEqual([1, expect.stringContaining(reason)])
  })
})

it('fhir restore names the address if S3 cannot be asked', async () => {
  const env = { HOME: newFolder(), AWS_REGION: undefined, AWS_DEFAULT_REGION: undefined }
  const { code, err } = await run(newFolder(), env, 'restore', 's3://bucket/none')
  expect([code, err]).toEqual([1, 'fhir: s3://bucket/none: Region is missing\n'])
})

await runOnDynamo((engine) => {
  afterAll(() => engine.stop())

  it('fhir restore --stage adds all versions to the stage, and reports a backup that is damaged', async () => {
    const [data, folder, table] = [newFolder(), newFolder(), await TestTable.create(engine)]
    const source = await SqliteResourceStore.open({ file: join(data, 'store.db') })
    await commitAll(source, savedWrites())
    const expected = await versionsIn(source)
    await source.close()
    expect((await fhir('backup', 's3://bucket/out', '--data', data)).code).toBe(0)
    mkdirSync(join(folder, '.fhir'))
    const outputs = { 'fhir-dev-data': { ResourceTableName: table.name, StateTableName: 'state', BucketName: 'stage' } }
    writeFileSync(join(folder, '.fhir', 'dev.json'), JSON.stringify(outputs))
    const [, asThePageSays = ''] = blockOf('npm run -s fhir -- backup s3://')
    const words = asThePageSays
      .replace('npm run -s fhir -- ', '')
      .replace('BACKUPS/monday', 'bucket/out')
      .replace('OTHER', 'dev')
      .split(' ')
    const restore = () => run(folder, { AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint }, ...words)
    const { code, out } = await restore()
    expect([code, out]).toEqual([0, 's3://bucket/out is restored in the stage dev: 65 versions of 29 resources, 12 deletions\n'])
    for await (const { key } of blobs.list('stage/')) table.blobs.set(key.slice('stage/'.length), (await blobs.get(key))!)
    expect(await versionsIn(table.store())).toEqual(expected)
    const rows = await engine.client.send(
      new QueryCommand({ TableName: table.name, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': 'RESTORE' } }),
    )
    expect(rows.Items).toEqual([])
    for await (const { key } of blobs.list('bucket/out/objects/')) if (key.endsWith('/00000001.ndjson.gz')) await blobs.remove(key)
    expect(await restore()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^fhir: s3:\/\/bucket\/out\/objects\/[0-9a-f-]+\/00000001\.ndjson\.gz: .*\(missing\)$/m),
    })
  })
})
