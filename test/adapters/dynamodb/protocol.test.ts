/** Large transactions on DynamoDB: crashing coordinators, racing writers, concurrent readers. No commit is torn, lost or applied twice. */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it } from '@jest/globals'
import type { ResourceKey, UniquenessGuard, Write } from '../../../lambdas/ports/store/resource-store.ts'
import type { DynamoEngine } from '../../engines/dynoxide.ts'
import { type ClientCall, ClientCrash, type ClientFault, withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { type RaceFindings, runRace } from '../../fixtures/dynamodb/race.ts'
import { decodeText, newTenant, TestClock, type TestTable } from '../../fixtures/dynamodb/store.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { firstSeed, isFullRun } from '../../fixtures/long-runs.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { instantAt, patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const isFull = process.env.DYNAMODB_ENDPOINT !== undefined || isFullRun
const seed = firstSeed()

await runOnTable(suite)

function suite(engine: DynamoEngine, table: TestTable): void {
  const COMMITTED = { kind: 'committed' }
  const clientWith = (plan: (call: ClientCall) => ClientFault | undefined): DynamoDBDocumentClient => withFaults(engine.client, plan)
  const bodies = async (keys: readonly ResourceKey[]) => (await table.store().current(keys)).map((version) => decodeText(version?.body))
  const ended = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error) => {
      if (!(error instanceof ClientCrash)) throw error
      return error
    })

  /** A commit of six writes, three updates and three creates, with two guards. */
  async function sixOf(
    tenant: string,
  ): Promise<{ readonly keys: readonly ResourceKey[]; readonly writes: readonly Write[]; readonly guards: readonly UniquenessGuard[] }> {
    const keys = [...Array(6).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
    await table.store().commit(
      keys.slice(0, 3).map((key) => writeOf(key, { body: 'before', lastUpdated: instantAt(0) })),
      [],
    )
    const writes = keys.map((key, n) => writeOf(key, { expected: n < 3 ? 1 : 0, body: 'after', lastUpdated: instantAt(1) }))
    return { keys, writes, guards: [0, 1].map((n) => ({ tenant, guard: `g${n}`, holder: keys[4 + n]! })) }
  }
  const BEFORE = ['before', 'before', 'before', undefined, undefined, undefined]
  const AFTER = Array(6).fill('after')

  describe('A coordinator that dies', () => {
    it('at any step commits all or nothing, blocks others briefly, and leaves no trace', async () => {
      let outcomes = 0
      for (let step = 1 + (isFull ? 0 : seed % 3), wasDone = false; !wasDone; step += isFull ? 1 : 3) {
        const tenant = newTenant()
        const { keys, writes, guards } = await sixOf(tenant)
        let calls = 0
        const counting = ({ number }: ClientCall): ClientFault | undefined => {
          calls = number
          return number === step ? 'crash' : undefined
        }
        const result = await ended(table.store({ client: clientWith(counting) }).commit(writes, guards))
        wasDone = calls < step
        const seen = await bodies(keys)
        expect([BEFORE, AFTER]).toContainEqual(seen)
        if (!(result instanceof ClientCrash)) expect([result, seen]).toEqual([COMMITTED, AFTER])
        outcomes |= seen[0] === 'after' ? 1 : 2
        table.clock.ahead += 31_000
        // Half of the time the sweeper comes first, otherwise a writer that finds the remains.
        if (step % 2 === 0) await table.store().sweep()
        const next = patientKeyOf('next', tenant)
        const isTaken = seen[0] === 'after'
        expect(await table.store().commit([writeOf(next, { body: 'next' })], [{ ...guards[0]!, holder: next }])).toEqual(
          isTaken ? { kind: 'guarded', index: 0, holder: guards[0]!.holder } : COMMITTED,
        )
        expect(
          await table.store().commit([writeOf(keys[0]!, { expected: isTaken ? 2 : 1, body: 'plain', lastUpdated: instantAt(2) })], []),
        ).toEqual(COMMITTED)
        await table.sweepOut()
        expect(await bodies(keys)).toEqual(['plain', ...seen.slice(1)])
        expect(await table.unsettled(tenant)).toEqual([])
        for (const [key, versions] of [
          [keys[0]!, isTaken ? 3 : 2],
          [keys[1]!, isTaken ? 2 : 1],
          [keys[5]!, isTaken ? 1 : 0],
        ] as const) {
          const history = await table.store().history(key, {}, undefined, 10)
          expect(history.versions.map(({ versionId }) => versionId)).toEqual([...Array(versions).keys()].map((n) => versions - n))
        }
      }
      expect(outcomes).toBe(3)
    }, 120_000)

    it('blocks a conflicting writer only until its transaction times out', async () => {
      const { keys, writes } = await sixOf(newTenant())
      await ended(table.store({ client: clientWith(({ text }) => (text.includes('COMMITTED') ? 'crash' : undefined)) }).commit(writes, []))
      // The writer reads the transaction record at each attempt.
      let tries = 0
      const waits = ({ text }: ClientCall): ClientFault | undefined =>
        text.includes('#TXN#') && ++tries === 5 ? { before: async () => (table.clock.ahead += 31_000) } : undefined
      const waiting = table.store({ client: clientWith(waits) })
      expect(await waiting.commit([writeOf(keys[0]!, { expected: 1, body: 'plain', lastUpdated: instantAt(2) })], [])).toEqual(COMMITTED)
      expect(tries).toBeGreaterThanOrEqual(5)
      expect(await bodies(keys)).toEqual(['plain', ...BEFORE.slice(1)])
    })

    it('cannot commit any more if it wakes up after an abort', async () => {
      const { keys, writes } = await sixOf(newTenant())
      let woken = 0
      const others = async () => {
        table.clock.ahead += 31_000
        await table.store().sweep()
        expect(await table.store().commit([writeOf(keys[1]!, { expected: 1, body: 'other', lastUpdated: instantAt(2) })], [])).toEqual(
          COMMITTED,
        )
      }
      const late = ({ text }: ClientCall): ClientFault | undefined =>
        text.includes('COMMITTED') && !woken++ ? { before: others } : undefined
      expect(await table.store({ client: clientWith(late) }).commit(writes, [])).toMatchObject({ kind: 'conflict', index: 1 })
      expect(await bodies(keys)).toEqual(['before', 'other', 'before', undefined, undefined, undefined])
      expect(await table.unsettled(keys[0]!.tenant)).toEqual([])
    })
  })

  describe('A large transaction', () => {
    it('reports committed if the answer of its commit is lost', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      let lost = 0
      const plan = ({ text }: ClientCall): ClientFault | undefined => (text.includes('COMMITTED') && lost++ < 3 ? 'lost answer' : undefined)
      expect(await table.store({ client: clientWith(plan) }).commit(writes, guards)).toEqual(COMMITTED)
      expect([await bodies(keys), lost > 1]).toEqual([AFTER, true])
    })

    it('is rolled back at once if the service refuses to stage it', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      const plan = ({ name, text }: ClientCall): ClientFault | undefined =>
        name === 'Update' && text.includes('p4') && !text.includes('T#') ? 'throttled' : undefined
      const store = table.store({ client: clientWith(plan), attempts: 2 })
      const staged = async () => (await table.items(keys[0]!.tenant)).filter(({ ptx }) => ptx !== undefined)
      await expect(store.commit(writes, guards)).rejects.toThrow()
      expect([await staged(), await bodies(keys)]).toEqual([[], BEFORE])
      await table.sweepOut()
      expect([await table.unsettled(keys[0]!.tenant), await bodies(keys)]).toEqual([[], BEFORE])
    })

    it('is abandoned without effect if it is not staged in time', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      const stagings: string[] = []
      const plan = ({ name, text }: ClientCall): ClientFault | undefined => {
        if (name === 'Update' && text.includes('SET ptx = :tx')) stagings.push(text)
        return text.includes('PENDING') && stagings.length === 0 ? { after: async () => (table.clock.ahead += 1_001) } : undefined
      }
      const store = table.store({ client: clientWith(plan), transactionTime: 1_000 })
      await expect(store.commit(writes, guards)).rejects.toThrow(fault('overloaded'))
      expect([stagings, await bodies(keys)]).toEqual([[], BEFORE])
      await table.sweepOut()
      expect([await table.unsettled(keys[0]!.tenant), await bodies(keys)]).toEqual([[], BEFORE])
    })

    it('is finished by the stream function once it is decided', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      let id = ''
      const plan = ({ text }: ClientCall): ClientFault | undefined => {
        id = /#TXN#([0-9a-f-]{36})/.exec(text)?.[1] ?? id
        return /SET v = p/.test(text) ? 'crash' : undefined
      }
      await ended(table.store({ client: clientWith(plan) }).commit(writes, guards))
      expect((await table.unsettled(tenant)).length).toBeGreaterThan(6)
      expect(await table.store().settleTransaction(tenant, id)).toBe(true)
      expect([await table.unsettled(tenant), await bodies(keys)]).toEqual([[], AFTER])
      expect(await table.store().settleTransaction(tenant, id)).toBe(true)
    })

    it('loses nothing to a writer that reads before it and writes after it', async () => {
      for (const dying of ['COMMITTED', 'SET v = p', undefined])
        for (const others of [0, 2]) {
          const { keys, writes } = await sixOf(newTenant())
          const plan = ({ text }: ClientCall): ClientFault | undefined =>
            dying !== undefined && text.includes(dying) ? 'crash' : undefined
          let came = 0
          const large = async () => {
            if (came++ > 0) return
            await ended(table.store({ client: clientWith(plan) }).commit(writes, []))
            if (dying === 'COMMITTED') table.clock.ahead += 31_000
          }
          const writer = ({ name, text }: ClientCall): ClientFault | undefined =>
            (name === 'Put' || name === 'TransactWrite') && text.includes('"sk":"H"') ? { before: large } : undefined
          const more = [...Array(others).keys()].map((n) =>
            writeOf(patientKeyOf(`more${n}`, keys[0]!.tenant), { body: 'plain', lastUpdated: instantAt(2) }),
          )
          const written = await table
            .store({ client: clientWith(writer) })
            .commit([writeOf(keys[0]!, { expected: 1, body: 'plain', lastUpdated: instantAt(2) }), ...more], [])
          expect(written).toEqual(dying === 'COMMITTED' ? COMMITTED : { kind: 'conflict', index: 0 })
          expect(await bodies(keys)).toEqual(dying === 'COMMITTED' ? ['plain', ...BEFORE.slice(1)] : AFTER)
          expect(came).toBeGreaterThan(0)
        }
    })

    it('gives an expiry to guards it binds and guards it leaves behind', async () => {
      const { keys, guards, writes } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      const hours = async () => {
        const items = await table.items(tenant)
        const now = table.clock.now() / 1000
        return items.filter(({ sk }) => sk === 'U').map(({ expires }) => Math.round((Number(expires) - now) / 3600))
      }
      expect(await table.store().commit(writes, guards)).toEqual(COMMITTED)
      expect(await hours()).toEqual([2, 2])
      expect(await table.store().commit(writes, guards)).toMatchObject({ kind: 'conflict' })
      const again = writes.map((write, n) => ({ ...write, expected: n < 3 ? 2 : 1, lastUpdated: instantAt(3) }))
      const dies = ({ text }: ClientCall): ClientFault | undefined => (text.includes('COMMITTED') ? 'crash' : undefined)
      await ended(table.store({ client: clientWith(dies) }).commit(again, guards))
      expect(await hours()).toEqual([Number.NaN, Number.NaN])
      table.clock.ahead += 31_000
      await table.store().sweep()
      expect(await hours()).toEqual([2, 2])
    })

    it('leaves nothing permanent if its coordinator stages after the abort and then dies', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      const behind = new TestClock(table.clock.now() - 5_000)
      let [id, staged] = ['', 0]
      const older = async () => {
        await eventually(() => staged >= 7)
        const others = [0, 1, 2, 3].map((n) => writeOf(patientKeyOf(`other${n}`, tenant), { body: 'older', lastUpdated: instantAt(2) }))
        expect(
          await table.store({ clock: behind }).commit([writeOf(keys[5]!, { body: 'older', lastUpdated: instantAt(2) }), ...others], []),
        ).toEqual(COMMITTED)
        // The function that follows the stream does the same.
        expect(await table.store().settleTransaction(tenant, id)).toBe(true)
        expect((await table.items(tenant)).filter(({ ptx }) => ptx !== undefined)).toEqual([])
      }
      const plan = ({ name, text }: ClientCall): ClientFault | undefined => {
        id = /#TXN#([0-9a-f-]{36})/.exec(text)?.[1] ?? id
        if (text.includes('COMMITTED')) return 'crash'
        if (name !== 'Update' || !text.includes('SET ptx')) return undefined
        return text.includes('#p0"') ? { before: older } : { after: async () => staged++ }
      }
      await ended(table.store({ client: clientWith(plan) }).commit(writes, guards))
      expect((await table.unsettled(tenant)).length).toBeGreaterThan(3)
      await table.sweepOut()
      expect([await table.unsettled(tenant), await bodies(keys)]).toEqual([[], [...BEFORE.slice(0, 5), 'older']])
    })

    it('does not keep others from being settled if it cannot be settled', async () => {
      const worlds = [await sixOf(newTenant()), await sixOf(newTenant()), await sixOf(newTenant())]
      for (const { writes } of worlds) {
        const plan = ({ text }: ClientCall): ClientFault | undefined => (/SET v = p/.test(text) ? 'crash' : undefined)
        await ended(table.store({ client: clientWith(plan) }).commit(writes, []))
        table.clock.ahead += 1_000
      }
      table.clock.ahead += 31_000
      const [broken] = worlds
      const refuses = ({ text }: ClientCall): ClientFault | undefined =>
        /SET v = p/.test(text) && text.includes(`"${broken!.keys[0]!.tenant}#`) ? 'throttled' : undefined
      await expect(table.store({ client: clientWith(refuses), attempts: 2 }).sweep()).rejects.toThrow(AggregateError)
      const staged = async ({ keys }: (typeof worlds)[0]) =>
        (await table.items(keys[0]!.tenant)).filter(({ ptx }) => ptx !== undefined).length
      expect(await Promise.all(worlds.map(staged))).toEqual([6, 0, 0])
      await table.sweepOut()
      expect(await Promise.all(worlds.map(staged))).toEqual([0, 0, 0])
    })

    it('is left alone by the sweeper and the settler while it runs', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      let id = ''
      const look = async () => {
        await table.store().sweep()
        expect(await table.store().settleTransaction(keys[0]!.tenant, id)).toBe(false)
      }
      const plan = ({ text }: ClientCall): ClientFault | undefined => {
        id = /#TXN#([0-9a-f-]{36})/.exec(text)?.[1] ?? id
        return text.includes('COMMITTED') ? { before: look } : undefined
      }
      expect(await table.store({ client: clientWith(plan) }).commit(writes, guards)).toEqual(COMMITTED)
    })

    it('ends with one winner if several need the same resources', async () => {
      const tenant = newTenant()
      const keys = [...Array(12).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
      const commitOf = (body: string) =>
        table.store().commit(
          keys.map((key) => writeOf(key, { body })),
          [],
        )
      const results = await Promise.all(['a', 'b', 'c', 'd'].map(commitOf))
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(['committed', 'conflict', 'conflict', 'conflict'])
      expect(new Set(await bodies(keys)).size).toBe(1)
      expect(await table.unsettled(tenant)).toEqual([])
    })
  })

  describe('Recent writes', () => {
    const recent = async (tenant: string, since = table.clock.now() - 60_000) => {
      const found: string[] = []
      for await (const { id, versionId } of table.store().recent({ tenant, type: 'Patient' }, since, 100)) found.push(`${id}/${versionId}`)
      return found.toSorted()
    }

    it('show a large transaction from its commit on, settled or not', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      let moved = 0
      const seen: unknown[] = []
      const look = async () => void seen.push(await recent(tenant))
      const plan = ({ text }: ClientCall): ClientFault | undefined => {
        if (text.includes('COMMITTED')) return { before: look, after: look }
        return /SET v = p/.test(text) && moved++ === 2 ? 'crash' : undefined
      }
      await ended(table.store({ client: clientWith(plan) }).commit(writes, guards))
      const after = ['p0/2', 'p1/2', 'p2/2', 'p3/1', 'p4/1', 'p5/1']
      expect([...seen, await recent(tenant)]).toEqual([[], after, after])
    })

    it('show writes next to a transaction that is committed but not settled', async () => {
      const { keys, writes } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      const dies = ({ text }: ClientCall): ClientFault | undefined => (/SET v = p/.test(text) ? 'crash' : undefined)
      await ended(table.store({ client: clientWith(dies) }).commit(writes, []))
      await table.store().commit([writeOf(patientKeyOf('later', tenant), { body: 'later', lastUpdated: table.clock.now() })], [])
      await table.store().commit([writeOf(keys[0]!, { expected: 2, body: 'plain', lastUpdated: table.clock.now() })], [])
      expect(await recent(tenant)).toEqual(['later/1', 'p0/3', 'p1/2', 'p2/2', 'p3/1', 'p4/1', 'p5/1'])
    })

    it('show nothing of an aborted transaction', async () => {
      const { keys, writes } = await sixOf(newTenant())
      const dies = ({ text }: ClientCall): ClientFault | undefined => (text.includes('COMMITTED') ? 'crash' : undefined)
      await ended(table.store({ client: clientWith(dies) }).commit(writes, []))
      table.clock.ahead += 31_000
      expect(await recent(keys[0]!.tenant)).toEqual([])
      await table.store().sweep()
      expect(await recent(keys[0]!.tenant)).toEqual([])
    })

    it('still show versions settled late, because the index may receive them later', async () => {
      const { keys, writes } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      const dies = ({ text }: ClientCall): ClientFault | undefined => (/SET v = p/.test(text) ? 'crash' : undefined)
      await ended(table.store({ client: clientWith(dies) }).commit(writes, []))
      table.clock.ahead += 100_000
      await table.store().sweep()
      expect(await recent(tenant)).toEqual(['p0/2', 'p1/2', 'p2/2', 'p3/1', 'p4/1', 'p5/1'])
      expect((await table.store().history({ tenant }, {}, undefined, 100)).versions).toHaveLength(9)
      table.clock.ahead += 5 * 60_000
      await table.store().sweep()
      expect(await recent(tenant)).toHaveLength(6)
      table.clock.ahead += 61_000
      await table.store().sweep()
      expect([await recent(tenant), await table.unsettled(tenant)]).toEqual([[], []])
    })
  })

  describe('Histories', () => {
    it('at type level show a committed transaction only when it is fully settled', async () => {
      const { keys, writes, guards } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      let moved = 0
      const dies = ({ text }: ClientCall): ClientFault | undefined => (/SET v = p/.test(text) && moved++ === 2 ? 'crash' : undefined)
      await ended(table.store({ client: clientWith(dies) }).commit(writes, guards))
      await table.store().commit([writeOf(patientKeyOf('later', tenant), { body: 'later', lastUpdated: instantAt(2) })], [])
      const seen = async () => (await table.store().history({ tenant }, {}, undefined, 100)).versions.map(({ body }) => decodeText(body))
      expect(await seen()).toEqual(['before', 'before', 'before'])
      await table
        .store()
        .history(keys[0]!, {}, undefined, 100)
        .then(({ versions }) => expect(versions.map(({ body }) => decodeText(body))).toEqual(['after', 'before']))
      table.clock.ahead += 31_000
      await table.store().sweep()
      expect(await seen()).toEqual(['later', ...AFTER, 'before', 'before', 'before'])
    })

    it('since an instant end before transactions that may still commit, and before the index lag', async () => {
      const { keys, writes } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      const clock = new TestClock(table.clock.now())
      const store = () => table.store({ clock })
      await ended(
        table.store({ clock, client: clientWith(({ text }) => (text.includes('COMMITTED') ? 'crash' : undefined)) }).commit(writes, []),
      )
      await store().commit([writeOf(patientKeyOf('later', tenant), { body: 'later', lastUpdated: instantAt(2) })], [])
      const page = (window: object) => store().history({ tenant }, window, undefined, 100)
      const count = async (window: object) => (await page(window)).versions.length
      expect([await count({ since: instantAt(0) }), await count({})]).toEqual([3, 4])
      expect([(await page({ since: instantAt(0) })).until, (await page({})).until]).toEqual([instantAt(1), undefined])
      expect((await page({ since: instantAt(0), before: instantAt(1) })).until).toBeUndefined()
      clock.ahead += 31_000
      await store().sweep()
      expect(await count({ since: instantAt(0) })).toBe(4)
      await store().commit([writeOf(patientKeyOf('now', tenant), { body: 'now', lastUpdated: clock.now() })], [])
      expect([await count({ since: instantAt(0) }), await count({})]).toEqual([4, 5])
      const { until = 0 } = await page({ since: instantAt(0) })
      expect(clock.now() - until).toBeGreaterThanOrEqual(15_000)
      clock.ahead += 14_000
      expect(await count({ since: instantAt(0) })).toBe(4)
      clock.ahead += 1_500
      expect(await count({ since: instantAt(0) })).toBe(5)
    })
  })

  describe('Histories since an instant', () => {
    it('end before a transaction settled late until the index shows all of it', async () => {
      const { keys, writes } = await sixOf(newTenant())
      const { tenant } = keys[0]!
      const until = async () => (await table.store().history({ tenant }, { since: instantAt(0) }, undefined, 100)).until
      const dies = ({ text }: ClientCall): ClientFault | undefined => (/SET v = p/.test(text) ? 'crash' : undefined)
      await ended(table.store({ client: clientWith(dies) }).commit(writes, []))
      table.clock.ahead += 100_000
      await table.store().sweep()
      expect(await until()).toBe(instantAt(1))
      table.clock.ahead += 16_000
      expect(await until()).toBeGreaterThan(instantAt(1))
    })
  })

  it(`Coordinators that die, plain writers, readers and sweepers race: nothing torn, nothing lost (seed ${seed})`, async () => {
    const size = isFull
      ? { groups: 4, coordinators: 6, transactions: 40, plain: 150 }
      : { groups: 2, coordinators: 3, transactions: 4, plain: 20 }
    const { findings, acknowledged, died, readings } = await runRace(table, { seed, ...size })
    expect(findings).toEqual({ torn: [], lost: [], gaps: [], unsettled: [], apart: [] })
    for (const count of [acknowledged, died, readings]) expect(count).toBeGreaterThan(0)
  }, 300_000)

  /** The race must find the faults of a broken store; otherwise it proves nothing. */
  const mutants: readonly (readonly [keyof RaceFindings, string, (call: ClientCall) => ClientFault | undefined])[] = [
    [
      'torn',
      'readers that take every transaction for aborted',
      ({ name, text }) => (name === 'Get' && text.includes('#TXN#') ? { instead: async () => ({}) } : undefined),
    ],
    [
      'gaps',
      'writers that copy nothing',
      ({ name, text }) => (name === 'Put' && text.includes('"sk":"V#') ? { instead: async () => ({}) } : undefined),
    ],
    [
      'apart',
      'coordinators that do not ask whether they were aborted',
      ({ name, input, text }) =>
        name === 'Update' && text.includes('COMMITTED')
          ? { before: async () => void Object.assign(input, { ConditionExpression: '#state = :pending OR attribute_exists(pk)' }) }
          : undefined,
    ],
  ]
  for (const [finding, mutant, plan] of isFull ? mutants : [])
    it(`The race finds ${mutant}`, async () => {
      const size = { groups: 2, coordinators: 6, transactions: 20, plain: 60 }
      let found = 0
      // A single race may miss the fault.
      for (let round = 0; round < 6 && found === 0; round++) {
        const { findings } = await runRace(table, { seed: seed + round, ...size }, clientWith(plan))
        found = findings[finding].length
      }
      expect(found).toBeGreaterThan(0)
    }, 300_000)
}
