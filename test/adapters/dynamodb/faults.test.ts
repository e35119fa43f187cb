/** Failed calls and concurrent writers of the DynamoDB store: each commit takes effect once, or reports that it did not. */
import { createHash, randomBytes } from 'node:crypto'
import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, it, jest } from '@jest/globals'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { CommitResult, ResourceKey } from '../../../lambdas/ports/store/resource-store.ts'
import { listTenants } from '../../contracts/known-tenants.contract.ts'
import type { DynamoEngine } from '../../engines/dynoxide.ts'
import { type ClientCall, type ClientFault, type ItemKeys, withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { decodeText, newTenant, TestTable } from '../../fixtures/dynamodb/store.ts'
import { isFullRun } from '../../fixtures/long-runs.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { readAllVersions, readFirstPage } from '../../fixtures/scans.ts'
import { instantAt, patientKeyOf, writeOf } from '../../fixtures/versions.ts'

const isFull = process.env.DYNAMODB_ENDPOINT !== undefined || isFullRun

/** Runs `work` on the first call only. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => {
    done ??= work()
    return done
  }
}

await runOnTable(suite)

function suite(engine: DynamoEngine, table: TestTable): void {
  const storeWith = (plan: (call: ClientCall) => ClientFault | undefined, options = {}) =>
    table.store({ client: withFaults(engine.client, plan), ...options })
  const COMMITTED = { kind: 'committed' }

  const historyOf = async (key: ResourceKey) =>
    (await table.store().history(key, {}, undefined, 100)).versions.map(({ versionId, body }) => `${versionId} ${decodeText(body)}`)

  describe('A call that fails', () => {
    const faults = ['throttled', 'lost answer', 'conflict'] as const
    const [one, several, many] = [1, 3, TestTable.most + 1]
    /** Commands, with the sizes of commits that send them. */
    const commands = { Put: one, Get: one, BatchGet: several, BatchWrite: several, TransactWrite: several, Update: many }
    for (const fault of faults)
      for (const [command, usual] of Object.entries(commands))
        it(`(${fault}) at each first and second ${command} leaves every commit in effect once`, async () => {
          for (const size of isFull ? [one, several, many] : [usual]) {
            const keys = [...Array(size).keys()].map((n) => patientKeyOf(`p${n}`, `${fault.slice(0, 4)}-${command}-${size}`))
            let left = 2
            const store = storeWith(({ name }) => (name === command && left-- > 0 ? fault : undefined))
            for (const [expected, body] of ['one', 'two'].entries()) {
              left = 2
              const writes = keys.map((key) => writeOf(key, { expected, body }))
              expect(await store.commit(writes, [])).toEqual(COMMITTED)
            }
            left = 2
            const heads = await store.current(keys)
            expect(heads.map((version) => decodeText(version?.body))).toEqual(keys.map(() => 'two'))
            expect(await historyOf(keys.at(-1)!)).toEqual(['2 two', '1 one'])
          }
        })

    it('leaves no resource in an unlisted tenant, at whichever step the process dies', async () => {
      for (const size of [one, several, many])
        for (let last = 0, isDone = false; !isDone; last++) {
          const tenant = newTenant()
          const keys = [...Array(size).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
          const store = storeWith(({ number }) => (number > last ? 'crash' : undefined))
          isDone = await store
            .commit(
              keys.map((key) => writeOf(key)),
              [],
            )
            .then(
              () => true,
              () => false,
            )
          const isThere = (await table.store().current(keys)).some((version) => version !== undefined)
          const known = await listTenants(table.store())
          expect([size, last, isThere && !known.includes(tenant)]).toEqual([size, last, false])
          expect(!isDone || isThere).toBe(true)
        }
    })

    for (const fault of faults)
      it(`(${fault}) at each first and second Delete does not keep a transaction from being taken back`, async () => {
        const tenant = newTenant()
        const keys = [...Array(many).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
        await table.store().commit([writeOf(keys[3]!, { body: 'here first' })], [])
        let left = 2
        const store = storeWith(({ name }) => (name === 'Delete' && left-- > 0 ? fault : undefined))
        const writes = keys.map((key) => writeOf(key, { body: 'all' }))
        expect(await store.commit(writes, [])).toMatchObject({ kind: 'conflict', index: 3 })
        expect((await store.current(keys)).map((version) => decodeText(version?.body))).toEqual([
          undefined,
          undefined,
          undefined,
          'here first',
          undefined,
        ])
        expect(await table.unsettled(tenant)).toEqual([])
        expect(left).toBeLessThan(2)
      })

    it('(no answer) is abandoned in time and retried', async () => {
      const key = patientKeyOf('a', newTenant())
      let silent = 0
      const store = storeWith(({ name }) => (name === 'Put' && silent++ === 0 ? 'silence' : undefined), { patience: 1_000 })
      expect(await store.commit([writeOf(key, { body: 'one' })], [])).toEqual(COMMITTED)
      expect(silent).toBe(2)
    })

    it('throws overloaded without effect if every attempt is throttled', async () => {
      const key = patientKeyOf('a', newTenant())
      const store = storeWith(({ name }) => (name === 'Put' ? 'throttled' : undefined), { attempts: 3 })
      await expect(store.commit([writeOf(key, { body: 'one' })], [])).rejects.toThrow(fault('overloaded'))
      expect(await table.store().current([key])).toEqual([undefined])
    })

    it('throws another fault than overloaded if one attempt may have had an effect', async () => {
      const key = patientKeyOf('a', newTenant())
      let puts = 0
      const store = storeWith(({ name }) => (name !== 'Put' ? undefined : puts++ === 0 ? 'lost answer' : 'throttled'), { attempts: 3 })
      const commit = store.commit([writeOf(key, { body: 'one' })], [])
      await expect(commit).rejects.toThrow()
      await expect(commit).rejects.not.toThrow(fault('overloaded'))
    })

    it('reports unavailable if every attempt of a read fails', async () => {
      const tenant = newTenant()
      const keys = [patientKeyOf('a', tenant), patientKeyOf('b', tenant)]
      await table.store().commit(
        keys.map((key) => writeOf(key)),
        [],
      )
      for (const silent of ['Get', 'BatchGet', 'Query']) {
        const store = storeWith(({ name }) => (name === silent ? 'lost answer' : undefined), { attempts: 2 })
        const read = {
          Get: () => store.heads([keys[0]!]),
          BatchGet: () => store.current(keys),
          Query: () => store.history({ tenant, type: 'Patient' }, {}, undefined, 9),
        }
        await expect(read[silent as 'Get']()).rejects.toMatchObject({ fault: 'unavailable' })
      }
    })

    it('throws an error of any other kind unchanged', async () => {
      const client = { send: async () => Promise.reject(Object.assign(new Error('no'), { name: 'AccessDeniedException' })) } as never
      const store = table.store({ client })
      await expect(store.commit([writeOf(patientKeyOf('a', newTenant()), { body: 'one' })], [])).rejects.toThrow('no')
      await expect(store.current([patientKeyOf('a', 't')])).rejects.toThrow('no')
    })
  })

  describe('A stamp', () => {
    const [one, several, many] = [1, 3, TestTable.most + 1]
    const stampTime = 10_000

    it('is sent for ten seconds; a commit with an older one throws overloaded', async () => {
      for (const size of [one, several, many]) {
        const tenant = newTenant()
        const keys = [...Array(size).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
        const commit = (age: number) => {
          const lastUpdated = table.clock.now() - age
          return table.store({ stampTime }).commit(
            keys.map((key) => writeOf(key, { body: 'one', lastUpdated })),
            [],
          )
        }
        await expect(commit(stampTime)).rejects.toThrow(fault('overloaded'))
        expect(await table.items(tenant)).toMatchObject([{ pk: `${tenant}#CFG` }])
        expect(await commit(stampTime - 5_000)).toEqual(COMMITTED)
      }
    })

    it('is not sent again once it is too old, whether refused or unanswered', async () => {
      for (const size of [one, several, many])
        for (const answer of ['throttled', 'lost answer'] as const) {
          const tenant = newTenant()
          const keys = [...Array(size).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
          let sent = 0
          const store = storeWith(
            ({ name }) => {
              if (name !== 'Put' && name !== 'TransactWrite') return undefined
              sent++
              table.clock.ahead += stampTime
              return answer
            },
            { stampTime },
          )
          const commit = store.commit(
            keys.map((key) => writeOf(key, { body: 'one', lastUpdated: table.clock.now() })),
            [],
          )
          await (answer === 'throttled'
            ? expect(commit).rejects.toThrow(fault('overloaded'))
            : expect(commit).rejects.not.toThrow(fault('overloaded')))
          expect(sent).toBe(1)
        }
    })
  })

  describe('A lost answer', () => {
    it('does not turn a commit into a conflict if other writers commit before the retry', async () => {
      for (const size of [1, 2]) {
        const tenant = newTenant()
        const keys = ['a', 'b'].slice(0, size).map((id) => patientKeyOf(id, tenant))
        await table.store().commit(
          keys.map((key) => writeOf(key, { body: 'one' })),
          [],
        )
        let lost = 0
        const decides = (call: ClientCall) =>
          (call.name === 'TransactWrite' || (call.name === 'Put' && call.text.includes('"sk":"H"'))) && lost++ === 0
        const others = async () => {
          await table.store().commit([writeOf(keys[0]!, { expected: 2, body: 'three' })], [])
          await table.store().commit([writeOf(keys[0]!, { expected: 3, body: 'four' })], [])
          throw Object.assign(new Error('lost'), { name: 'TimeoutError' })
        }
        const store = storeWith((call) => (decides(call) ? { after: others } : undefined))
        expect(
          await store.commit(
            keys.map((key) => writeOf(key, { expected: 1, body: 'two' })),
            [],
          ),
        ).toEqual(COMMITTED)
        expect(await historyOf(keys[0]!)).toEqual(['4 four', '3 three', '2 two', '1 one'])
      }
    })

    it.each(['throttled', 'lost answer'] as const)('is not reported as no effect if its outcome is unreadable (%s)', async (fault) => {
      const key = patientKeyOf('a', newTenant())
      await table.store().commit([writeOf(key)], [])
      let lost = 0
      const another = async () => {
        await table.store().commit([writeOf(key, { expected: 2 })], [])
        throw Object.assign(new Error('lost'), { name: 'TimeoutError' })
      }
      const plan = ({ name, text }: ClientCall): ClientFault | undefined => {
        if (name === 'Put' && text.includes('"sk":"H"')) return lost++ === 0 ? { after: another } : undefined
        return name === 'Get' && lost > 0 ? fault : undefined
      }
      const told = await storeWith(plan, { attempts: 2 })
        .commit([writeOf(key, { expected: 1 })], [])
        .catch((error: unknown) => error)
      expect([told instanceof Error, told instanceof MachineFault]).toEqual([true, false])
    })

    it('does not let two equal concurrent creates both succeed', async () => {
      const key = patientKeyOf('a', newTenant())
      const write = writeOf(key, { body: 'the same' })
      let losses = 0
      const losing = storeWith(({ name }) => (name === 'Put' && losses++ < 9 ? 'lost answer' : undefined))
      const results = await Promise.all([1, 2, 3].map(() => losing.commit([write], [])))
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(['committed', 'conflict', 'conflict'])
      expect(await historyOf(key)).toEqual(['1 the same'])
    })
  })

  it('Keys and items that a batch leaves unprocessed are sent again', async () => {
    const tenant = newTenant()
    const keys = [...Array(30).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
    let withheld = 0
    const withhold = ({ name, input }: ClientCall): ClientFault | undefined => {
      if (!name.startsWith('Batch') || withheld++ > 4) return undefined
      const { RequestItems } = input
      return { instead: async () => (name === 'BatchGet' ? { UnprocessedKeys: RequestItems } : { UnprocessedItems: RequestItems }) }
    }
    const store = storeWith(withhold, { mostActions: 100 })
    for (const expected of [0, 1])
      expect(
        await store.commit(
          keys.map((key) => writeOf(key, { expected, body: `${expected}` })),
          [],
        ),
      ).toEqual(COMMITTED)
    expect((await store.current(keys)).map((version) => decodeText(version?.body))).toEqual(keys.map(() => '1'))
    expect(await historyOf(keys[29]!)).toEqual(['2 1', '1 0'])
    expect(withheld).toBeGreaterThan(4)
  })

  describe('A read with concurrent writes', () => {
    const readOneByOne = async (keys: ItemKeys) => {
      const found: unknown[] = []
      for (const Key of keys) {
        const { Item } = await engine.client.send(new GetCommand({ TableName: table.name, Key, ConsistentRead: true }))
        if (Item !== undefined) found.push(Item)
      }
      return found
    }

    /** Reads the keys of a batch one after the other, and runs `meanwhile` after the first `n`. */
    const slowly = (n: number, meanwhile: () => Promise<unknown>, isFirst: (sk: string) => boolean = () => true) => {
      let interrupted = false
      const oneByOne = async (keys: ItemKeys) => {
        const ordered = keys.toSorted((a, b) => Number(isFirst(b.sk)) - Number(isFirst(a.sk)))
        const found = await readOneByOne(ordered.slice(0, n))
        await meanwhile()
        return { Responses: { [table.name]: [...found, ...(await readOneByOne(ordered.slice(n)))] } }
      }
      return storeWith(({ name, input }) => {
        if (name !== 'BatchGet' || interrupted) return undefined
        interrupted = true
        return { instead: () => oneByOne(input.RequestItems![table.name]!.Keys) }
      })
    }

    it('finds a version that moves from head to copy during the read', async () => {
      const key = patientKeyOf('a', newTenant())
      await table.store().commit([writeOf(key, { body: 'one' })], [])
      const reader = slowly(
        1,
        () => table.store().commit([writeOf(key, { expected: 1, body: 'two' })], []),
        (sk) => sk.startsWith('V#'),
      )
      const found = await reader.versions([{ ...key, versionId: 1 }])
      expect(found.map((version) => decodeText(version?.body))).toEqual(['one'])
    })

    it('lets no sweep remove a large body that moves from head to copy meanwhile', async () => {
      const large = randomBytes(400_000)
      for (const [when, isCopyFirst] of [
        ['in one batch, the copies first', true],
        ['between two readings', false],
      ] as const) {
        const key = patientKeyOf('a', newTenant())
        await table.store().commit([writeOf(key, { body: large })], [])
        const move = once(() => table.store().commit([writeOf(key, { expected: 1, body: 'small' })], []))
        const copiesFirst = async (keys: ItemKeys) => {
          const found = [await readOneByOne(keys.filter(({ sk }) => sk.startsWith('V#')))]
          await move()
          return { Responses: { [table.name]: [...found, await readOneByOne(keys.filter(({ sk }) => sk === 'H'))].flat() } }
        }
        const client = withFaults(engine.client, ({ name, input }) => {
          if (name !== 'BatchGet' && name !== 'Get') return undefined
          return name === 'BatchGet' && isCopyFirst
            ? { instead: () => copiesFirst(input.RequestItems![table.name]!.Keys) }
            : { after: move }
        })
        await table.sweepBodies({ from: 0, before: Number.MAX_SAFE_INTEGER }, undefined, client)
        const [version] = await table.store().versions([{ ...key, versionId: 1 }])
        expect([when, version?.body.length]).toEqual([when, large.length])
        expect((await table.store().current([key]))[0]?.versionId).toBe(2)
      }
    })

    it('returns several heads as of one moment, for every size of commit', async () => {
      for (const size of [TestTable.most, TestTable.most + 1]) {
        const tenant = newTenant()
        const keys = [...Array(size).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
        const now = table.clock.now()
        await table.store().commit(
          keys.map((key) => writeOf(key, { body: 'one', lastUpdated: now })),
          [],
        )
        const reader = slowly(2, () =>
          table.store().commit(
            keys.map((key) => writeOf(key, { expected: 1, body: 'two', lastUpdated: now + 1 })),
            [],
          ),
        )
        const seen = await reader.current(keys)
        expect(seen.map((version) => decodeText(version?.body))).toEqual(keys.map(() => 'two'))
      }
    })
  })

  it('The versions decide which one was current, despite the instant a losing writer leaves', async () => {
    const key = patientKeyOf('a', newTenant())
    await table.store().commit([writeOf(key, { body: 'one', lastUpdated: instantAt(0) })], [])
    // The loser reads the head, then the winner writes, then the loser copies the head it read.
    const winner = () => table.store().commit([writeOf(key, { expected: 1, body: 'winner', lastUpdated: instantAt(10) })], [])
    const loser = storeWith(({ name }) => (name === 'Get' ? { after: winner } : undefined))
    expect(await loser.commit([writeOf(key, { expected: 1, body: 'loser', lastUpdated: instantAt(20) })], [])).toMatchObject({
      kind: 'conflict',
      index: 0,
    })
    const scan = async (asOf: number) =>
      (await readAllVersions(table.store(), { tenant: key.tenant, type: 'Patient', asOf, limit: 10 })).map(({ body }) => decodeText(body))
    expect(await scan(instantAt(15))).toEqual(['winner'])
    expect(await scan(instantAt(5))).toEqual(['one'])
    const { versions } = await table.store().history({ tenant: key.tenant, type: 'Patient' }, { currentAt: instantAt(15) }, undefined, 10)
    expect(versions.map(({ body }) => decodeText(body))).toEqual(['winner'])
  })

  describe('Bodies too large for an item', () => {
    const large = randomBytes(400_000)
    const keysOf = (tenant: string) => [...table.blobs.keys()].filter((name) => name.includes(`/${tenant}/`)).toSorted()

    /** Replaces the body of the current version by the object that an earlier server version wrote for it: without its owner. */
    async function storeAsBefore(key: ResourceKey, name: string): Promise<void> {
      const [now] = keysOf(key.tenant)
      const bytes = Buffer.from(table.blobs.get(now!)!.bytes)
      const old = bytes.subarray(0, bytes.lastIndexOf(`${key.tenant}#Patient#${key.id} `))
      table.blobs.delete(now!)
      table.blobs.set(name, { bytes: old, contentType: 'application/octet-stream' })
      const values = { ':blob': name, ':sha': createHash('sha256').update(old).digest() }
      const item = { TableName: table.name, Key: { pk: `${key.tenant}#Patient#${key.id}`, sk: 'H' } }
      await engine.client.send(
        new UpdateCommand({
          ...item,
          UpdateExpression: 'SET v.#b = :blob, v.sha = :sha',
          ExpressionAttributeNames: { '#b': 'blob' },
          ExpressionAttributeValues: values,
        }),
      )
    }

    it('are stored in the blob store under their own keys, with checksums', async () => {
      const key = patientKeyOf('..', newTenant())
      await table.store().commit([writeOf(key, { body: large })], [])
      await table.store().commit([writeOf(key, { expected: 1, body: 'small' })], [])
      const [version] = await table.store().versions([{ ...key, versionId: 1 }])
      expect(Buffer.compare(version!.body, large)).toBe(0)
      const [name, blob] = [...table.blobs].find(([name]) => name.includes(key.tenant))!
      table.blobs.set(name, { ...blob, bytes: new Uint8Array(blob.bytes).with(9, blob.bytes[9]! ^ 1) })
      await expect(table.store().versions([{ ...key, versionId: 1 }])).rejects.toThrow('damaged')
    })

    it('are read eight at a time until the byte limit is reached', async () => {
      const tenant = newTenant()
      const keys = [...Array(40).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
      await table.store().commit(
        keys.map((key) => writeOf(key, { body: large })),
        [],
      )
      const read = jest.spyOn(table.blobs, 'get')
      expect(await table.store().current(keys, 3 * large.length)).toHaveLength(3)
      expect(read).toHaveBeenCalledTimes(8)
      read.mockRestore()
    })

    it('leave nothing behind if the commit is a conflict', async () => {
      for (const size of [1, 2, TestTable.most + 1]) {
        const tenant = newTenant()
        const keys = [...Array(size).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
        await table.store().commit([writeOf(keys[0]!, { body: 'here first' })], [])
        const result = await table.store().commit(
          keys.map((key) => writeOf(key, { body: large })),
          [],
        )
        expect(result).toMatchObject({ kind: 'conflict', index: 0 } satisfies Partial<CommitResult>)
        expect([...table.blobs.keys()].filter((name) => name.includes(`/${tenant}/`))).toEqual([])
      }
    })

    it('are swept if no version names them, and only then', async () => {
      const tenant = newTenant()
      const key = patientKeyOf('p', tenant)
      await table.store().commit([writeOf(key, { body: large })], [])
      await table.store().commit([writeOf(key, { expected: 1, body: large })], [])
      const mine = () => keysOf(tenant)
      const removedIn = async (range: { from: number; before: number }) => (await table.sweepBodies(range)).removed
      const named = mine()
      table.blobs.set(`bodies/${tenant}/Patient/another`, table.blobs.get(named[0]!)!)
      const dies = storeWith(({ name }) => (name === 'Put' ? 'crash' : undefined))
      await expect(dies.commit([writeOf(patientKeyOf('never', tenant), { body: large })], [])).rejects.toThrow('crashed')
      expect(await removedIn({ from: 0, before: 1_000 })).toBe(0)
      expect(await removedIn({ from: 1_001, before: 2_000 })).toBe(0)
      expect(mine()).toHaveLength(4)
      expect(await removedIn({ from: 1_000, before: 1_001 })).toBe(2)
      expect(mine()).toEqual(named)
    })

    it('are swept in pages, each after the last key of the previous one', async () => {
      const tenant = newTenant()
      await table.store().commit([writeOf(patientKeyOf('p', tenant), { body: large })], [])
      const [body] = keysOf(tenant).map((name) => table.blobs.get(name)!)
      const orphans = Array.from({ length: 1_001 }, (_, n) => `bodies/${tenant}/Patient/~${String(n).padStart(4, '0')}`)
      for (const key of orphans) table.blobs.set(key, body!)
      const range = { from: 0, before: Number.MAX_SAFE_INTEGER }
      const after = `bodies/${tenant}/Patient/~`
      expect(await table.sweepBodies(range, after)).toEqual({ removed: 1_000, last: orphans[999], failures: [] })
      expect(await table.sweepBodies(range, orphans[999])).toEqual({ removed: 1, failures: [] })
      expect(keysOf(tenant)).toHaveLength(1)
    })

    it('are swept beside bodies that cannot be read', async () => {
      const tenant = newTenant()
      await table.store().commit([writeOf(patientKeyOf('p', tenant), { body: large })], [])
      const [body] = keysOf(tenant).map((name) => table.blobs.get(name)!)
      const name = (n: number): string => `bodies/${tenant}/Patient/~${String(n).padStart(4, '0')}`
      for (let n = 0; n < 100; n++) table.blobs.set(name(n), body!)
      table.blobs.set(name(50), { ...body!, bytes: Uint8Array.of(1) })
      const range = { from: 0, before: Number.MAX_SAFE_INTEGER }
      const { removed, failures } = await table.sweepBodies(range, `bodies/${tenant}/Patient/~`)
      expect([removed, failures.length, keysOf(tenant).length]).toEqual([50, 1, 51])
      for (const key of keysOf(tenant)) table.blobs.delete(key)
    })

    it('have keys that do not name their resource', async () => {
      const key = patientKeyOf('member-4711', newTenant())
      for (const expected of [0, 1]) await table.store().commit([writeOf(key, { expected, body: large })], [])
      const names = keysOf(key.tenant)
      expect(names.map((name) => name.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, 'UUID'))).toEqual(
        [1, 2].map(() => `bodies/${key.tenant}/Patient/UUID`),
      )
      expect(new Set(names).size).toBe(2)
    })

    it('stay readable and are swept if an earlier server version wrote them', async () => {
      const key = patientKeyOf('old', newTenant())
      await table.store().commit([writeOf(key, { body: large })], [])
      const name = `overflow/${key.tenant}/Patient/old~1~op`
      await storeAsBefore(key, name)
      for (const orphan of ['old~1~dead', 'never~1~dead'])
        table.blobs.set(`overflow/${key.tenant}/Patient/${orphan}`, table.blobs.get(name)!)
      expect((await table.store().current([key]))[0]?.body.length).toBe(large.length)
      const scanned = await readAllVersions(table.store(), { tenant: key.tenant, type: 'Patient', asOf: instantAt(0), limit: 10 })
      expect(scanned.map(({ body }) => Buffer.compare(body, large))).toEqual([0])
      await table.sweepBodies({ from: 0, before: Number.MAX_SAFE_INTEGER })
      expect(keysOf(key.tenant)).toEqual([name])
      await table.store().commit([writeOf(key, { expected: 1, body: 'small' })], [])
      await table.sweepBodies({ from: 0, before: Number.MAX_SAFE_INTEGER })
      const [version] = await table.store().versions([{ ...key, versionId: 1 }])
      expect(Buffer.compare(version!.body, large)).toBe(0)
    })

    it('are retained while a staged transaction names them, decided or not', async () => {
      for (const isDecided of [false, true]) {
        const tenant = newTenant()
        const keys = [...Array(TestTable.most + 1).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
        const dies = storeWith(({ text }) => (text.includes(isDecided ? 'SET v = p' : 'COMMITTED') ? 'crash' : undefined))
        const result = dies.commit(
          keys.map((key) => writeOf(key, { body: large })),
          [],
        )
        await (isDecided ? expect(result).resolves.toEqual(COMMITTED) : expect(result).rejects.toThrow('crashed'))
        const mine = () => [...table.blobs.keys()].filter((name) => name.includes(`/${tenant}/`))
        await table.sweepBodies({ from: 0, before: Number.MAX_SAFE_INTEGER })
        expect(mine()).toHaveLength(keys.length)
        table.clock.ahead += 31_000
        await table.store().sweep()
        await table.sweepBodies({ from: 0, before: Number.MAX_SAFE_INTEGER })
        const lengths = (await table.store().current(keys)).map((version) => version?.body.length)
        expect(lengths).toEqual(keys.map(() => (isDecided ? large.length : undefined)))
        expect(mine()).toHaveLength(isDecided ? keys.length : 0)
      }
    })

    it('may belong to any number of compartments', async () => {
      const write = writeOf(patientKeyOf('group', newTenant()), { body: 'members' })
      const compartments = [...Array(20_000).keys()].map(() => `Patient/${crypto.randomUUID()}`)
      await table.store().commit([{ ...write, compartments }], [])
      expect((await table.store().current([write]))[0]?.compartments).toEqual(compartments)
    })
  })

  it('Partitions of the index can be added: histories and scans return each version once', async () => {
    const tenant = newTenant()
    const keys = [...Array(12).keys()].map((n) => patientKeyOf(`p${n}`, tenant))
    const commitAll = (shards: number, expected: number) =>
      table.store({ shards: () => shards, mostActions: 100 }).commit(
        keys.map((key) => writeOf(key, { expected, body: `${expected}` })),
        [],
      )
    for (const [expected, shards] of [1, 4, 2, 8].entries()) expect(await commitAll(shards, expected)).toEqual(COMMITTED)
    const { versions } = await table.store().history({ tenant }, {}, undefined, 1000)
    expect(versions.map(({ id, versionId }) => `${id}/${versionId}`).toSorted()).toEqual(
      keys.flatMap(({ id }) => [1, 2, 3, 4].map((n) => `${id}/${n}`)).toSorted(),
    )
    for (const asOf of [0, 1, 2, 3]) {
      const request = { tenant, type: 'Patient', asOf: instantAt(asOf), limit: 5 }
      const found: string[] = []
      for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
        const from = cursor === undefined ? {} : { cursor }
        const page = await readFirstPage(table.store(), { ...request, ...from })
        found.push(...page.versions.map(({ id, versionId }) => `${id}/${versionId}`))
        cursor = page.cursor
      }
      expect(found.toSorted()).toEqual(keys.map(({ id }) => `${id}/${asOf + 1}`).toSorted())
    }
  })
}
