/** What the DynamoDB store does when calls fail, coordinators die and writers race: nothing torn, nothing lost, nothing twice. And what it costs. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DynamoDbResourceStore } from '../../lambdas/adapters/dynamodb/resource-store.ts'
import type { Blob, BlobStore } from '../../lambdas/ports/blob-store.ts'
import type { Clock } from '../../lambdas/ports/clock.ts'
import type { ResourceKey, Write } from '../../lambdas/ports/resource-store.ts'
import { type DynamoEngine, startDynamo } from '../engines/dynoxide.ts'
import { metered } from '../fixtures/dynamodb/capacity.ts'
import { Crash, type Fault, faulty } from '../fixtures/dynamodb/faults.ts'

const engine = await startDynamo()
const isFull = process.env.FHIR_TEST_FULL === '1'
const seed = Number(process.env.FHIR_TEST_SEED ?? Date.now() % 1_000_000)

class TestClock implements Clock {
  ahead = 0
  now(): number {
    return Date.now() + this.ahead
  }
  newId(): string {
    return crypto.randomUUID()
  }
}

const blobs = new Map<string, Blob>()
const blobStore = {
  put: async (key: string, blob: Blob) => void blobs.set(key, blob),
  get: async (key: string) => blobs.get(key),
} as unknown as BlobStore

let counter = 0
const key = (tenant: string, id = `r${++counter}`): ResourceKey => ({ tenant, type: 'Patient', id })
const write = (at: ResourceKey, expected: number, body: string | Uint8Array): Write => ({
  ...at,
  expected,
  lastUpdated: 1_700_000_000_000 + expected * 1000,
  deleted: false,
  compartments: [],
  body: typeof body === 'string' ? Buffer.from(body) : body,
})

if (engine === undefined)
  it.skip('is not run: there is no DynamoDB emulator for this machine, and DYNAMODB_ENDPOINT is not set', () => undefined)
else suite(engine)

function suite({ client, newTable, stop }: DynamoEngine): void {
  let table = ''
  const clock = new TestClock()
  const storeOn = (on = client) => new DynamoDbResourceStore({ client: on, table, blobs: blobStore, clock })
  const bodies = async (keys: readonly ResourceKey[]) =>
    (await storeOn().current(keys)).map((version) => (version === undefined ? undefined : Buffer.from(version.body).toString()))
  beforeAll(async () => {
    table = await newTable()
  })
  afterAll(stop)

  describe('a call that fails', () => {
    const cases: readonly (readonly [Fault, string])[] = [
      ['throttled', 'PutCommand'],
      ['throttled', 'GetCommand'],
      ['throttled', 'BatchGetCommand'],
      ['throttled', 'TransactWriteCommand'],
      ['throttled', 'UpdateCommand'],
      ['lost answer', 'PutCommand'],
      ['lost answer', 'TransactWriteCommand'],
      ['lost answer', 'UpdateCommand'],
      ['conflict', 'TransactWriteCommand'],
    ]
    it.each(cases)('%s, at the first and second %s: each commit takes effect once', async (fault, command) => {
      for (const size of [1, 3, 101]) {
        const tenant = `faults-${++counter}`
        let left = 2
        const store = storeOn(faulty(client, (_, name) => (name === command && left-- > 0 ? fault : undefined)))
        const keys = Array.from({ length: size }, () => key(tenant))
        expect(
          await store.commit(
            keys.map((at) => write(at, 0, 'one')),
            [],
          ),
        ).toEqual({ kind: 'committed' })
        left = 2
        expect(
          await store.commit(
            keys.map((at) => write(at, 1, 'two')),
            [],
          ),
        ).toEqual({ kind: 'committed' })
        expect(new Set(await bodies(keys))).toEqual(new Set(['two']))
        const { versions } = await storeOn().history(keys[0]!, {}, undefined, 10)
        expect(versions.map(({ versionId, body }) => [versionId, Buffer.from(body).toString()])).toEqual([
          [2, 'two'],
          [1, 'one'],
        ])
      }
    })
    it('leaves nothing unread in a batch: unprocessed keys and items are asked again', async () => {
      const tenant = `unprocessed-${++counter}`
      const keys = Array.from({ length: 30 }, () => key(tenant))
      await storeOn().commit(
        keys.map((at, i) => write(at, 0, `b${i}`)),
        [],
      )
      let withheld = 0
      const partial = {
        send: async (command: { input: { RequestItems?: Record<string, unknown> }; constructor: { name: string } }) => {
          const answer = (await client.send(command as never)) as {
            Responses?: Record<string, { pk: string; sk: string }[]>
            UnprocessedKeys?: unknown
          }
          if (command.constructor.name !== 'BatchGetCommand' || withheld++ > 1) return answer
          const back = answer.Responses![table]!.splice(0, 7)
          return { ...answer, UnprocessedKeys: { [table]: { Keys: back.map(({ pk, sk }) => ({ pk, sk })) } } }
        },
      } as never
      const found = await storeOn(partial).current(keys)
      expect(found.map((version) => Buffer.from(version!.body).toString())).toEqual(keys.map((_, i) => `b${i}`))
      expect(withheld).toBeGreaterThan(1)
    })
  })

  it('a coordinator that dies at any step of a large transaction leaves all of it or none, and nobody waits for it for ever', async () => {
    const steps = new Set<string>()
    for (let step = 1; ; step += isFull ? 5 : 40) {
      const tenant = `crash-${++counter}`
      const keys = Array.from({ length: 101 }, () => key(tenant))
      await storeOn().commit(
        keys.slice(0, 60).map((at) => write(at, 0, 'before')),
        [],
      )
      const dying = storeOn(
        faulty(client, (call, name) => {
          if (call === step) steps.add(name)
          return call === step ? 'crash' : undefined
        }),
      )
      const acknowledged = await dying
        .commit(
          keys.map((at, i) => write(at, i < 60 ? 1 : 0, 'after')),
          [],
        )
        .then(
          () => true,
          (error) => {
            if (!(error instanceof Crash)) throw error
            return false
          },
        )
      const seen = await bodies(keys)
      const after = seen.filter((body) => body === 'after').length
      expect([0, 101]).toContain(after)
      if (acknowledged) expect(after).toBe(101)
      // A plain writer meets what the dead one staged: after the deadline it goes through.
      clock.ahead += 31_000
      const [head] = await storeOn().current([keys[0]!])
      expect(await storeOn().commit([write(keys[0]!, head!.versionId, 'plain')], [])).toEqual({ kind: 'committed' })
      await storeOn().sweep()
      const settled = await bodies(keys)
      expect(settled[0]).toBe('plain')
      expect(settled.slice(1)).toEqual(seen.slice(1))
      const { versions } = await storeOn().history(keys[1]!, {}, undefined, 10)
      expect(versions.map(({ versionId }) => versionId)).toEqual(after === 101 ? [2, 1] : [1])
      if (acknowledged) break
    }
    expect(steps).toContain('UpdateCommand')
  }, 300_000)

  it(`racing transactions, some of them dying, beside plain writers and readers: nothing torn, nothing lost (seed ${seed})`, async () => {
    let state = seed
    const random = (n: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return state % n
    }
    const tenant = `race-${++counter}`
    const [groups, size, rounds] = isFull ? [4, 101, 10] : [2, 101, 2]
    const groupKeys = Array.from({ length: groups }, (_, g) => Array.from({ length: size }, (_, i) => key(tenant, `g${g}-${i}`)))
    const acknowledged = new Map<string, number>()
    let tag = 0
    const coordinator = async (): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const g = random(groups)
        const name = `t${++tag}`
        const dies = random(3) === 0 ? 1 + random(3 * size) : 0
        const store = storeOn(faulty(client, (call) => (call === dies ? 'crash' : undefined)))
        try {
          const heads = await store.current(groupKeys[g]!)
          const result = await store.commit(
            groupKeys[g]!.map((at, i) => ({ ...write(at, heads[i]?.versionId ?? 0, name) })),
            [],
          )
          if (result.kind === 'committed') acknowledged.set(name, g)
        } catch (error) {
          if (!(error instanceof Crash)) throw error
          clock.ahead += 31_000
        }
      }
    }
    let running = true
    let torn = 0
    let reads = 0
    const reader = (async () => {
      while (running) {
        const keys = groupKeys[random(groups)]!.slice(0, 8)
        const [a, b] = [await bodies(keys), await bodies(keys)]
        reads++
        if (a.join() === b.join() && new Set(a).size > 1) torn++
      }
    })()
    await Promise.all([coordinator(), coordinator(), coordinator()])
    running = false
    await reader
    clock.ahead += 31_000
    await storeOn().sweep()
    expect([torn, reads > 0]).toEqual([0, true])
    for (const [g, keys] of groupKeys.entries()) {
      const histories = await Promise.all(
        keys
          .slice(0, 12)
          .map(async (at) =>
            (await storeOn().history(at, {}, undefined, 100)).versions
              .map(({ versionId, body }) => `${versionId}:${Buffer.from(body)}`)
              .join(),
          ),
      )
      expect(new Set(histories).size).toBe(1)
      const ids = histories[0]!
        .split(',')
        .filter(Boolean)
        .map((entry) => Number(entry.split(':')[0]))
      expect(ids).toEqual(ids.map((_, i) => ids.length - i))
      for (const [name, group] of acknowledged) if (group === g) expect(histories[0]).toContain(`:${name}`)
    }
  }, 300_000)

  it('a resource of 1 KB costs 2 units to create, 5 to update, 1 to read', async () => {
    const tenant = `cost-${++counter}`
    const meter = metered(client)
    const store = storeOn(meter.client)
    await store.commit([write(key(tenant), 0, 'the type is known from here on')], [])
    meter.take()
    const at = key(tenant)
    // Bodies are deflated: random bytes stay as large as they are.
    const body = randomBytes(800)
    await store.commit([write(at, 0, body)], [])
    expect(meter.take()).toEqual({ read: 0, write: 2 })
    await store.commit([write(at, 1, body)], [])
    expect(meter.take()).toEqual({ read: 1, write: 5 })
    await store.current([at])
    expect(meter.take()).toEqual({ read: 1, write: 0 })
    await store.commit([{ ...write(at, 2, ''), deleted: true }], [])
    expect(meter.take().write).toBe(5)
  })

  it('keeps bodies that no item can hold beside the table', async () => {
    const at = key(`large-${++counter}`)
    const large = randomBytes(600_000)
    await storeOn().commit([write(at, 0, large)], [])
    await storeOn().commit([write(at, 1, 'small')], [])
    const [one, two] = await storeOn().versions([
      { ...at, versionId: 1 },
      { ...at, versionId: 2 },
    ])
    expect(Buffer.compare(one!.body, large)).toBe(0)
    expect(Buffer.from(two!.body).toString()).toBe('small')
  })
}
