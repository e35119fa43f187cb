/**
 * The bundled indexer behind a pump with the settings of its event source mapping, among faults: nothing that was acknowledged is lost, searches
 * catch up, and no record stands in the way of others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { newId, type Tree } from '../api/server.ts'
import { type FaultyEngine, type ProxiedRequest, type ProxyFault, startFaultyProxy } from '../engines/opensearch-proxy.ts'
import { caseCountOf, isFullRun } from '../fixtures/long-runs.ts'
import { patient } from '../fixtures/resources.ts'
import { type AwsCalls, awsCalls } from './aws-calls.ts'
import { runOnCloud } from './deployed.ts'
import { type HostedDeployment, hostDeployment } from './hosted.ts'
import { type DiscardedBatch, type Pump, pump, type StreamRecord, streamReader } from './pump.ts'

const ROUNDS = caseCountOf(1, 5)
/** ms for which OpenSearch is away. */
const OUTAGE = isFullRun ? 60_000 : 5_000

runOnCloud('the indexer', { here: true, follows: false }, (cloud, { put, raw, delete: remove }) => {
  let aws: AwsCalls
  let proxy: FaultyEngine
  let home: HostedDeployment
  let read: () => Promise<readonly StreamRecord[]>
  let plan: (request: ProxiedRequest) => ProxyFault | undefined = () => undefined
  const discarded: DiscardedBatch[] = []

  beforeAll(async () => {
    const { awsEndpoint, searchEndpoint, assembly, deployment } = cloud()
    aws = awsCalls(awsEndpoint)
    proxy = await startFaultyProxy(searchEndpoint, (request) => plan(request))
    home = await hostDeployment(aws, assembly, deployment, { aws: awsEndpoint, search: proxy.endpoint })
    read = streamReader(aws, home.streams.indexer!.arn)
  })
  afterEach(() => {
    plan = () => undefined
  })
  afterAll(async () => {
    await home?.host.close()
    await proxy?.close()
  })

  const follow = (disturb?: (batch: readonly StreamRecord[]) => readonly StreamRecord[]): Pump =>
    pump({
      mapping: home.streams.indexer!.mapping,
      read,
      invoke: (event) => home.host.invoke('indexer', event),
      onDiscarded: (each) => discarded.push(each),
      ...(disturb === undefined ? {} : { disturb }),
    })

  /** Patients of this mark, updated some times and some of them deleted; what is acknowledged, id → version, 0 for a deletion. */
  async function write(mark: string, count: number): Promise<ReadonlyMap<string, string>> {
    const acknowledged = new Map<string, string>()
    const one = async (i: number): Promise<void> => {
      const id = `${mark}-${i}`
      for (let n = 0; n <= i % 3; n++) {
        const { status, body } = await put(`/Patient/${id}`, patient(id, { identifier: [{ system: 'urn:mark', value: mark }] }))
        expect([200, 201]).toContain(status)
        acknowledged.set(id, body.meta.versionId)
      }
      if (i % 7 !== 6) return
      expect((await remove(`/Patient/${id}`)).status).toBe(204)
      acknowledged.delete(id)
    }
    const ids = Array.from({ length: count }, (_, i) => i)
    await Promise.all(
      [0, 1, 2, 3].map(async (worker) => {
        for (const i of ids.filter((each) => each % 4 === worker)) await one(i)
      }),
    )
    return acknowledged
  }

  /** What a search finds that waits for nothing. */
  async function found(mark: string): Promise<ReadonlyMap<string, string>> {
    await fetch(`${cloud().searchEndpoint}/fhir-*/_refresh`, { method: 'POST' })
    const response = await raw(`/Patient?identifier=urn:mark%7C${mark}&_count=1000`)
    const { entry = [] }: Tree = await response.json()
    expect(response.status).toBe(200)
    return new Map(entry.map(({ resource }: Tree) => [resource.id, resource.meta.versionId]))
  }

  it('indexes batch by batch', async () => {
    const mark = newId()
    const acknowledged = await write(mark, 60)
    const { drain, figures } = follow()
    await drain()
    expect(await found(mark)).toEqual(acknowledged)
    expect([figures.failures, discarded]).toEqual([0, []])
    expect(figures.largest).toBeGreaterThan(1)
  })

  it('gets over throttling', async () => {
    const mark = newId()
    const acknowledged = await write(mark, 40)
    let asked = 0
    plan = ({ path }) => (path.startsWith('/_bulk') && ++asked <= 8 ? { kind: 'status', status: 429 } : undefined)
    await follow().drain()
    expect(asked).toBeGreaterThan(8)
    expect(await found(mark)).toEqual(acknowledged)
  })

  it('waits for an OpenSearch that is away', async () => {
    const mark = newId()
    const acknowledged = await write(mark, 40)
    const until = performance.now() + OUTAGE
    plan = () => (performance.now() < until ? { kind: 'drop', when: 'before' } : undefined)
    const { drain, figures } = follow()
    await drain()
    expect(performance.now()).toBeGreaterThan(until)
    expect(figures.batches).toBeGreaterThan(0)
    expect(await found(mark)).toEqual(acknowledged)
  })

  it('may end at any time', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const mark = newId()
      let kills = 0
      // Once its documents are on their way, and before: every other time they arrive.
      plan = ({ path }) => {
        if (!path.startsWith('/_bulk') || ++kills > 12) return undefined
        home.host.kill('indexer')
        return kills % 2 === 0 ? { kind: 'drop', when: 'before' } : undefined
      }
      let isWritten = false
      const written = write(mark, 60).finally(() => {
        isWritten = true
      })
      const { drain, figures } = follow()
      while (!isWritten) {
        await drain()
        await sleep(10)
      }
      await drain()
      plan = () => undefined
      expect(await found(mark)).toEqual(await written)
      expect([kills > 12, figures.failures >= 12]).toEqual([true, true])
    }
  })

  it('ends at the newest versions, however often and in whatever order records come', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const mark = newId()
      const acknowledged = await write(mark, 60)
      const seen: StreamRecord[] = []
      const disturb = (batch: readonly StreamRecord[]) => {
        const again = seen.filter(() => Math.random() < 0.3)
        seen.push(...batch)
        return [...batch, ...again].sort(() => Math.random() - 0.5)
      }
      await follow(disturb).drain()
      expect(await found(mark)).toEqual(acknowledged)
    }
  })

  it('is stopped neither by a damaged version nor by a document OpenSearch refuses', async () => {
    const mark = newId()
    const acknowledged = await write(mark, 40)
    const [damaged, refused] = [newId(), newId()]
    const table = home.functions.read!.environment.FHIR_TABLE!
    const key = (id: string) => ({ pk: { S: `default#Patient#${id}` }, sk: { S: 'H' } })
    const { Item: head }: Tree = await aws.json('dynamodb', `${DYNAMODB}.GetItem`, { TableName: table, Key: key(`${mark}-0`) })
    const body = Object.keys(head.v.M).find((name) => head.v.M[name].B !== undefined)!
    const v = { M: { ...head.v.M, [body]: { B: Buffer.from('this is no body').toString('base64') } } }
    await aws.json('dynamodb', `${DYNAMODB}.PutItem`, { TableName: table, Item: { ...head, ...key(damaged), v } })
    await put(`/Patient/${refused}`, patient(refused, { identifier: [{ system: 'urn:mark', value: mark }] }))
    plan = ({ path, body }) =>
      path.startsWith('/_bulk') && body.includes(refused) && body.includes(mark)
        ? { kind: 'refuse', ids: [`default~Patient~${refused}`], status: 400 }
        : undefined
    const { drain, figures } = follow()
    await drain()
    const all = await found(mark)
    expect(new Map([...all].filter(([id]) => id !== refused))).toEqual(acknowledged)
    expect(figures.failures).toBeLessThan(3)
    expect(discarded).toEqual([])
    // The head made by hand is no resource: later tests would read it.
    await aws.json('dynamodb', `${DYNAMODB}.DeleteItem`, { TableName: table, Key: key(damaged) })
  })
})

const DYNAMODB = 'DynamoDB_20120810'
