/**
 * A stage that is restored to an earlier instant, as lib/docs/restore.md says, on the deployed stacks. The deployment with `restored` prepares the
 * table, points all functions to it and rebuilds the documents of later writes. Then writes continue. MiniStack restores only the present state
 * (restored-table.ts), so the table is restored at the instant. Its stream begins with the deployment, as that of a restored table does. Other
 * tests: the duration and the responses of a restore by DynamoDB (adapters/dynamodb/restored-table.test.ts), the roles (infra/restored.test.ts).
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { TestResponse, Tree } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { type AwsCalls, awsCalls } from './aws-calls.ts'
import { requestDeployment, runOnCloud } from './requested-deployment.ts'
import { type Restores, startRestores } from './restored-table.ts'

const NAME = 'restored-1'

runOnCloud('a stage that is set back', {}, (cloud, { get, put, post, patch, delete: remove, raw, base }) => {
  let aws: AwsCalls
  let restores: Restores
  let restored: Tree
  let settings: Readonly<Record<string, string>>
  /** Issued before the restore: a link to a further page, and an X-Index-Token. */
  const before = { next: '', token: '' }

  const family = (id: string, name: string) => put(`/Patient/${id}`, patient(id, { family: name }))
  /** Sends no X-Index-Token of earlier writes. */
  const search = async (query: string): Promise<TestResponse> => {
    const response = await raw(query)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }
  const versions = ({ body }: TestResponse): readonly string[] =>
    (body.entry ?? []).map(({ resource: { id, meta } }: Tree) => `${id} ${meta.versionId}`).toSorted()
  /** Repeats the search while the response is 503 with Retry-After. */
  const found = async (query: string): Promise<readonly string[]> => {
    for (let asked = 0; ; asked++) {
      const answer = await search(query)
      if (answer.status === 200) return versions(answer)
      expect([query, answer.status, answer.headers.get('retry-after')]).toEqual([query, 503, expect.stringMatching(/^[1-9]/)])
      if (asked === MOST_ASKED) throw new Error(`${query} stays without an answer: ${answer.text}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const expectStatus = async (expected: number, answer: Promise<TestResponse>): Promise<TestResponse> => {
    const got = await answer
    expect([got.status, got.text]).toEqual([expected, got.text])
    return got
  }

  beforeAll(async () => {
    aws = awsCalls(cloud().awsEndpoint)
    restores = await startRestores(aws)
    settings = { AWS_ENDPOINT_URL_DYNAMODB: restores.endpoint }
  })
  afterAll(() => restores?.close())

  it('uses the restored table, and finds nothing written after the instant', async () => {
    for (const id of ['same', 'back', 'ended', 'risen']) await expectStatus(201, family(id, 'Before'))
    await expectStatus(204, remove('/Patient/risen'))
    await expectStatus(
      201,
      put('/Basic/note', { resourceType: 'Basic', id: 'note', code: { text: 'x' }, subject: { reference: 'Patient/back' } }),
    )
    const page = await get('/Patient?family=Before&_count=1')
    before.next = page.body.link.find(({ relation }: Tree) => relation === 'next').url.replace(base(), '')
    const outputs = Object.assign({}, ...Object.values(cloud().deployment.outputs)) as Readonly<Record<string, string>>
    const former = outputs.ResourceTableName!
    const key = Object.values(outputs).find((value) => value.startsWith('arn:aws:kms:'))!
    const instant = await restores.restore(former, NAME, key)

    for (const [id, status] of [
      ['back', 200],
      ['back', 200],
      ['gone', 201],
      ['risen', 201],
    ] as const)
      await expectStatus(status, family(id, 'After'))
    before.token = (await expectStatus(204, remove('/Patient/ended'))).headers.get('x-index-token')!
    expect(versions(await get('/Patient?family=After'))).toEqual(['back 3', 'gone 1', 'risen 3'])

    restored = { resources: NAME, former, epoch: 1, instant }
    await requestDeployment({ settings, onto: { restored, service: { writes: 'stopped' } } })
    expect(await found('/Patient?family=After')).toEqual([])
    expect(await found('/Patient?family=Before')).toEqual(['back 1', 'ended 1', 'same 1'])
    expect(await found('/Patient')).toEqual(['back 1', 'ended 1', 'same 1'])
    expect(await found('/Basic?subject:Patient.family=Before')).toEqual(['note 1'])
    expect(await found('/Basic?subject:Patient.family=After')).toEqual([])
  })

  it('answers reads from the restored table at once, and rejects earlier cursors and tokens', async () => {
    expect((await get('/Patient/back')).body.name[0].family).toBe('Before')
    await expectStatus(404, get('/Patient/back/_history/2'))
    await expectStatus(404, get('/Patient/gone'))
    await expectStatus(200, get('/Patient/ended'))
    await expectStatus(404, get('/Patient/risen'))
    const history = await get('/Patient/_history')
    expect([history.body.entry.length, history.text.includes('After')]).toEqual([5, false])
    await expectStatus(410, search(before.next))
    await expectStatus(410, get('/Patient?family=Before', { 'x-index-token': before.token }))
    // It lists the types that are still checked. They may include types of other tests.
    const left = async () => (await get('/$reindex-status')).body.parameter.filter(({ name }: Tree) => name === 'rebuild')
    let some = await left()
    for (let asked = 0; some.length > 0 && asked < MOST_ASKED; asked++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      some = await left()
    }
    expect(some).toEqual([])
  })

  it('rejects writes with 503 until the setting is removed', async () => {
    const all = [
      family('back', 'Refused'),
      post('/Patient', patient('x', { family: 'Refused' })),
      remove('/Patient/same'),
      patch('/Patient/same', [{ op: 'add', path: '/active', value: true }]),
      post('/', { resourceType: 'Bundle', type: 'transaction', entry: [{ request: { method: 'DELETE', url: 'Patient/same' } }] }),
    ]
    for (const answer of all) expect((await expectStatus(503, answer)).headers.get('retry-after')).toMatch(/^[1-9]/)
    expect(await found('/Patient')).toEqual(['back 1', 'ended 1', 'same 1'])
  })

  it('gives the table its stream, expiry, recovery and protection, and follows only this table', async () => {
    const asked = (operation: string): Promise<Tree> => aws.json('dynamodb', `DynamoDB_20120810.${operation}`, { TableName: NAME })
    const { Table } = await asked('DescribeTable')
    expect(Table).toMatchObject({ StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' }, DeletionProtectionEnabled: true })
    expect((await asked('DescribeTimeToLive')).TimeToLiveDescription.TimeToLiveStatus).toBe('ENABLED')
    const { ContinuousBackupsDescription: backups } = await asked('DescribeContinuousBackups')
    expect(backups.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus).toBe('ENABLED')
    const { EventSourceMappings }: Tree = JSON.parse(await aws.send('lambda', 'GET', '/2015-03-31/event-source-mappings/'))
    expect(EventSourceMappings.map(({ EventSourceArn }: Tree) => EventSourceArn)).toEqual([Table.LatestStreamArn, Table.LatestStreamArn])
  })

  it('accepts writes again, reuses version numbers, and answers every search from the store', async () => {
    await requestDeployment({ settings, onto: { restored } })
    const numberOf = async (answer: Promise<TestResponse>) => (await answer).body.meta.versionId
    expect(await numberOf(family('back', 'Again'))).toBe('2')
    expect(await numberOf(family('gone', 'Again'))).toBe('1')
    expect(await numberOf(family('risen', 'Again'))).toBe('3')
    await expectStatus(204, remove('/Patient/same'))
    expect(versions(await get('/Patient?family=Again'))).toEqual(['back 2', 'gone 1', 'risen 3'])
    expect(versions(await get('/Patient?family=Before'))).toEqual(['ended 1'])
    expect(versions(await get('/Patient?family=After'))).toEqual([])
    expect(versions(await get('/Patient'))).toEqual(['back 2', 'ended 1', 'gone 1', 'risen 3'])
    expect(versions(await get('/Basic?subject:Patient.family=Again'))).toEqual(['note 1'])
    expect((await get('/Patient/back/_history/2')).body.name[0].family).toBe('Again')
    const unless = (name: string) => post('/Patient', patient('x', { family: name }), { 'if-none-exist': `family=${name}` })
    await expectStatus(412, unless('Again'))
    await expectStatus(201, unless('After'))
  })
})

/** Maximum attempts, 100 ms apart. */
const MOST_ASKED = 1_500
