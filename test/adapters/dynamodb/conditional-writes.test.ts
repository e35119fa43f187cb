/** Conditional writes by identifier on DynamoDB: their cost, and races, also while no index answers. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { writerWithRows } from '../../../lambdas/adapters/dynamodb/store/identifier-rows.ts'
import type { DynamoDbResourceStore } from '../../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { identifierIndex } from '../../../lambdas/interactions/consistency/identifier-index.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { forEachInParallel } from '../../../lambdas/ports/execution/parallel.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { Searches } from '../../../lambdas/ports/search/search-index.ts'
import type { IdentifierRows } from '../../../lambdas/ports/store/identifier-rows.ts'
import type { ResourceWriter } from '../../../lambdas/ports/store/resource-store.ts'
import { identifiersOf } from '../../../lambdas/search/documents/identifiers.ts'
import { conditionalPorts, createRequest, runTransaction, runWrite, updateRequest } from '../../fixtures/conditional-writes.ts'
import { meteredClient } from '../../fixtures/dynamodb/capacity.ts'
import { withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { newTenant } from '../../fixtures/dynamodb/store.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { readAllVersions } from '../../fixtures/scans.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const ROUNDS = caseCountOf(50, 5_000)

const personOf = (values: readonly string[], family = 'x', id?: string) => ({
  resourceType: 'Patient',
  ...(id === undefined ? {} : { id }),
  name: [{ family }],
  identifier: values.map((value) => ({ system: 'urn:a', value })),
})

/** An index that is unavailable. */
const down = async (): Promise<never> => {
  throw new MachineFault('unavailable', 'the index is down')
}
const DOWN: Searches = { find: down, distinct: down, groups: down, explain: down }
/**
 * Functions that answer requests. `rows`: they rely on identifier rows. `blind`: they do not, and their searches miss all commits of the
 * race. `earlier`: the same, in an earlier release, which has only the guard of the criteria.
 */
type Kind = 'rows' | 'blind' | 'earlier'

const ONE = 'identifier=urn:a|1'
const EARLIER_GUARD = createHash('sha256')
  .update(JSON.stringify(['Patient', [ONE]]))
  .digest('base64url')

function portsOf(store: DynamoDbResourceStore, rows: IdentifierRows, kind: Kind) {
  const clock = { now: () => Date.now(), newId: () => crypto.randomUUID() }
  const report = (error: unknown): never => {
    throw error
  }
  const evaluation = { clock, expressions: EXPRESSIONS, reading: () => ({}) }
  const index: Searches = kind === 'rows' ? DOWN : { ...DOWN, find: async () => ({ hits: [], more: false }) }
  const latest = () => identifierIndex({ index, rows, resources: store, ...evaluation, haveRows: async () => kind === 'rows', report })
  const plain = writerWithRows(store, rows)
  const earlier: ResourceWriter = {
    commit: (writes, guards) =>
      plain.commit(
        writes,
        guards.slice(0, 1).map((each) => ({ ...each, guard: EARLIER_GUARD })),
      ),
  }
  const writer = kind === 'earlier' ? earlier : plain
  return conditionalPorts(store, latest, { identifiersOf, writer })
}

await runOnTable((engine, table) => {
  /** A client of a table whose index does not answer. */
  const withoutIndex = withFaults(engine.client, ({ name, text }) =>
    name === 'Query' && text.includes('"IndexName"') ? { instead: down } : undefined,
  )

  async function createMeteredPorts() {
    const meter = meteredClient(withoutIndex)
    const calls: string[] = []
    const client = withFaults(meter.client, ({ name }) => void calls.push(name))
    const tenant = newTenant()
    const ports = portsOf(table.store({ client, mostActions: 100 }), table.identifierRows(client), 'rows')
    await runWrite(ports, createRequest(tenant, personOf([])))
    const cost = async (work: Promise<unknown>) => {
      const result = await work
      return [result, meter.take(), calls.splice(0).filter((name) => /Get$|Query$/.test(name)).length] as const
    }
    await cost(Promise.resolve())
    return { tenant, ports, cost }
  }

  describe('The cost of a write', () => {
    it('without identifiers is that of the version', async () => {
      const { tenant, ports, cost } = await createMeteredPorts()
      expect(await cost(runWrite(ports, createRequest(tenant, personOf([], 'x', 'p'))))).toEqual([201, { read: 1, write: 2 }, 1])
      expect(await cost(runWrite(ports, updateRequest(tenant, personOf([], 'y', 'p'))))).toEqual([200, { read: 2, write: 5 }, 2])
    })

    it('has one unit for each new identifier, and none for those that an update keeps', async () => {
      const { tenant, ports, cost } = await createMeteredPorts()
      const write = async (values: readonly string[]) =>
        (await cost(runWrite(ports, updateRequest(tenant, personOf(values, 'x', 'p')))))[1].write
      expect(await write(['1', '2'])).toBe(4)
      expect(await write(['1', '2'])).toBe(5)
      expect(await write(['2', '3'])).toBe(6)
      expect(await write([])).toBe(5)
      expect(await write(['2'])).toBe(6)
    })

    it('in a transaction does not include the identifiers that it keeps', async () => {
      const { tenant, ports, cost } = await createMeteredPorts()
      const requests = (values: readonly string[]) => ['p', 'q'].map((id) => updateRequest(tenant, personOf(values, 'x', id)))
      const write = async (values: readonly string[]) => (await cost(runTransaction(ports, requests(values))))[1].write
      expect(await write(['1'])).toBe(2 * (3 + 1))
      const kept = await write(['1'])
      expect([kept, await write(['2'])]).toEqual([kept, kept + 2])
    })
  })

  it('A write or transaction that adds over 20,000 identifiers is 422 and writes nothing', async () => {
    const { tenant, ports, cost } = await createMeteredPorts()
    const values = (count: number) => [...Array(count).keys()].map(String)
    const tooCostly = (place: string) => ({ status: 422, issues: [{ code: 'too-costly', expression: place }] })
    const single = updateRequest(tenant, personOf(values(20_001), 'x', 'p'))
    await expect(runWrite(ports, single)).rejects.toMatchObject(tooCostly('Patient.identifier'))
    const two = ['p', 'q'].map((id) => updateRequest(tenant, personOf(values(id === 'p' ? 20_000 : 1), 'x', id)))
    await expect(runTransaction(ports, two)).rejects.toMatchObject(tooCostly('Bundle.entry'))
    expect((await cost(Promise.resolve()))[1].write).toBe(0)
  })

  describe('A conditional write by identifier', () => {
    it('reads at most 10 units in 3 round trips before it writes, after 1,000 writes in a second and without any index', async () => {
      const { tenant, ports, cost } = await createMeteredPorts()
      const create = () => runWrite(ports, createRequest(tenant, personOf(['1']), 'identifier=urn:a|1'))
      const update = (family: string, values: readonly string[]) =>
        cost(runWrite(ports, updateRequest(tenant, personOf(values, family), 'identifier=1')))
      const lastUpdated = Date.now()
      const others = [...Array(1_000).keys()].map((n) =>
        writeOf(patientKeyOf(`other-${n}`, tenant), {
          lastUpdated,
          body: personOf([`other-${n}`], 'x', `other-${n}`),
          identifiers: [{ system: 'urn:a', value: `other-${n}` }],
        }),
      )
      for (let at = 0; at < others.length; at += 25)
        await ports.writer.commit(others.slice(at, at + 25), [], createRequest(tenant, personOf([])))
      await cost(Promise.resolve())
      // The read of the guard is part of its write, and costs no unit of its own. `heads` reads the new resource, which is missing.
      expect(await cost(create())).toEqual([201, { read: 2, write: 2 + 2 + 1 + 1 }, 2])
      // It reads the row, the match, and the version to return.
      expect(await cost(create())).toEqual([200, { read: 3, write: 0 }, 3])
      // It reads the row, the match, and the version to follow. Its commit reads that version again. A new value costs one unit more.
      expect(await update('new', ['1'])).toEqual([200, { read: 4, write: 5 }, 3 + 1])
      expect(await update('newer', ['1', '2'])).toEqual([200, { read: 4, write: 5 + 1 }, 3 + 1])
    })

    it('finds an updated resource by its new and kept values only', async () => {
      const tenant = newTenant()
      const ports = portsOf(table.store({ client: withoutIndex }), table.identifierRows(withoutIndex), 'rows')
      await runWrite(ports, updateRequest(tenant, personOf(['1', '2'], 'x', 'p')))
      await runWrite(ports, updateRequest(tenant, personOf(['2', '3'], 'x', 'p')))
      const status = (value: string) => runWrite(ports, createRequest(tenant, personOf([value]), `identifier=${value}`))
      expect([await status('2'), await status('3'), await status('1')]).toEqual([200, 200, 201])
    })

    const QUERIES = [ONE, 'identifier=1', 'identifier=URN:b|9,urn:a|1', 'family=x&identifier=urn:a|1', 'identifier=2&identifier=urn:a|1']

    it.each([
      ['while no index answers', withoutIndex, ['rows'], QUERIES, ROUNDS],
      ['beside functions whose searches miss all commits', engine.client, ['rows', 'blind'], QUERIES, ROUNDS],
      ['beside functions of an earlier release', engine.client, ['blind', 'earlier'], [ONE], caseCountOf(20, 500)],
    ] as const)('creates one resource in a race %s', async (_, client, kinds, queries, rounds) => {
      const random = dice(firstSeed() + 1)
      const statuses = new Set<unknown>()
      // Several races run at the same time, so their pauses between retries overlap. Each has its own tenant.
      await forEachInParallel([...Array(rounds).keys()], 10, async (round) => {
        const tenant = newTenant()
        const request = (): FhirRequest => {
          const criteria = queries[random(queries.length)]!
          return (random(2) === 0 ? createRequest : updateRequest)(tenant, personOf(['1', '2']), criteria)
        }
        const fill = () => [...Array(random(5)).keys()].map(() => createRequest(tenant, { resourceType: 'Basic', code: { text: 'x' } }))
        const racers = [...Array(3).keys()].map(() => {
          const ports = portsOf(table.store({ client }), table.identifierRows(client), kinds[random(kinds.length)]!)
          return random(2) === 0 ? runWrite(ports, request()) : runTransaction(ports, [request(), ...fill()])
        })
        for (const status of await Promise.all(racers)) statuses.add([status].flat()[0])
        const found = await readAllVersions(table.store(), { tenant, type: 'Patient', asOf: Date.now() + 1, limit: 10 })
        expect([round, found.map(({ deleted }) => deleted)]).toEqual([round, [false]])
      })
      expect([...statuses].map(String).toSorted()).toEqual(['200', '200 OK', '201', '201 Created'])
    })
  })
})

/** Numbers below a bound, the same for the same seed. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 8) % below
  }
}
