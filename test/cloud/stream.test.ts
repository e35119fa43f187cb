/**
 * The bundled indexer behind a pump with the settings of its event source mapping, under faults: no acknowledged write is lost, searches catch
 * up, and no record blocks others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { newId, type Tree } from '../api/server.ts'
import { type FaultyEngine, type ProxiedRequest, type ProxyFault, startFaultyProxy } from '../engines/opensearch-proxy.ts'
import { caseCountOf, isFullRun } from '../fixtures/long-runs.ts'
import { patient } from '../fixtures/resources.ts'
import { type AwsCalls, awsCalls } from './aws-calls.ts'
import { type HostedDeployment, hostDeployment } from './hosted-deployment.ts'
import { type DiscardedBatch, type Pump, pump, type StreamRecord, streamReader } from './pump.ts'
import { runOnCloud } from './requested-deployment.ts'

const ROUNDS = caseCountOf(1, 5)
/** How long OpenSearch is unavailable, in milliseconds. */
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

  /** Writes patients with this mark, updates some and deletes some. Returns the acknowledged versions by id, without deleted patients. */
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

  /** Returns the versions by id that a search finds which does not wait for the index. */
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

  it('repeats requests that OpenSearch throttles', async () => {
    const mark = newId()
    const acknowledged = await write(mark, 40)
    let asked = 0
    plan = ({ path }) => (path.startsWith('/_bulk') && ++asked <= 8 ? { kind: 'status', status: 429 } : undefined)
    await follow().drain()
    expect(asked).toBeGreaterThan(8)
    expect(await found(mark)).toEqual(acknowledged)
  })

  it('waits while OpenSearch is unavailable', async () => {
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

  it('loses nothing if it is killed at any time', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const mark = newId()
      let kills = 0
      // Kills the indexer while it sends documents. Every other time they arrive.
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

  it('indexes the newest versions, even if records are repeated or reordered', async () => {
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

  it('continues after a damaged version and a document that OpenSearch rejects', async () => {
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
    // The damaged head is no resource, and later tests would read it.
    await aws.json('dynamodb', `${DYNAMODB}.DeleteItem`, { TableName: table, Key: key(damaged) })
  })
})

const DYNAMODB = 'DynamoDB_20120810'
