/** What lambdas/ports/store/resource-store.ts promises, as tests: every adapter runs this suite. Each test works in a tenant of its own. */
import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type CommitResult,
  type HistoryPosition,
  type HistoryScope,
  type HistoryWindow,
  type ResourceKey,
  type ResourceReader,
  type ResourceVersion,
  type ResourceWriter,
  type ScanExtent,
  type ScanPage,
  type ScanRequest,
  type UniquenessGuard,
  type VersionKey,
  WRITE_KINDS,
  type Write,
} from '../../lambdas/ports/store/resource-store.ts'
import { fault } from '../fixtures/machine-fault.ts'
import { waitOneTurn } from '../fixtures/turns.ts'
import { deletionOf, instantAt, patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

export type ResourceStoreUnderTest = {
  readonly reader: ResourceReader
  readonly writer: ResourceWriter
  readonly close: () => Promise<void>
  /** Changes a bit of a stored body, as a disk may. */
  readonly damage: (key: VersionKey) => Promise<void>
}

export type ResourceStoreSizes = {
  /** Writes of the largest commit; no other test writes more than 300 versions. */
  readonly largestCommit?: number
  /** Clients that update one resource at the same time. */
  readonly racers?: number
  /** Commits each of four writers makes of the same resources, while others look for torn ones. */
  readonly rounds?: number
  /** Of scans. */
  readonly pageSizes?: readonly number[]
  /** Bytes. */
  readonly largestBody?: number
  /** Milliseconds one test may take. */
  readonly timeout?: number
}

export function resourceStoreContract(name: string, create: () => Promise<ResourceStoreUnderTest>, sizes: ResourceStoreSizes = {}): void {
  const { largestCommit = 5000, racers = 50, rounds = 10, pageSizes = [1, 4, 1000], largestBody = 20_000_000, timeout = 60_000 } = sizes
  let reader: ResourceReader
  let writer: ResourceWriter
  let close = async () => {}
  let damage: ResourceStoreUnderTest['damage']

  beforeAll(async () => {
    const created = await create()
    reader = created.reader
    writer = created.writer
    close = created.close
    damage = created.damage
  }, timeout)
  afterAll(() => close(), timeout)

  const commit = (...writes: readonly Write[]): Promise<CommitResult> => writer.commit(writes, [])
  const head = async (key: ResourceKey): Promise<ResourceVersion | undefined> => (await reader.current([key]))[0]

  describe(`${name}: versions`, () => {
    it('carry their write kind in every read except placesOnly', async () => {
      const tenant = newTenant()
      const keys = [...WRITE_KINDS.keys()].map((n) => patientKeyOf(`p${n}`, tenant))
      const made = WRITE_KINDS.map((making, n) => writeOf(keys[n]!, { made: making, expected: 0 }))
      const later = WRITE_KINDS.map((making, n) => writeOf(keys[WRITE_KINDS.length - 1 - n]!, { made: making, expected: 1 }))
      const untold = writeOf(patientKeyOf('untold', tenant))
      for (const writes of [[untold], made, later]) expect(await commit(...writes)).toEqual({ kind: 'committed' })
      const byId = (a: ResourceKey, b: ResourceKey) => (a.id < b.id ? -1 : 1)
      const heads = [...later, untold].map(versionOf).toSorted(byId)
      const all = [...made.map(versionOf), ...heads]
      const told = (versions: readonly (ResourceVersion | undefined)[]) =>
        versions.map((version) => `${version?.id} ${version?.versionId} ${version?.made}`).toSorted()
      expect(await reader.current(heads)).toEqual(heads)
      expect(await reader.heads(heads)).toEqual(heads)
      expect(await reader.versions(all)).toEqual(all)
      expect((await scanAll({ tenant, type: 'Patient', asOf: instantAt(9), limit: 3 })).toSorted(byId)).toEqual(heads)
      expect(told(await pages({ tenant }, {}, 2))).toEqual(told(all))
      expect(told(await pages(keys[0]!, {}, 2))).toEqual(told(all.filter(({ id }) => id === 'p0')))
      const places = await pages({ tenant }, { placesOnly: true }, 2)
      expect(places.map(({ made }) => made)).toEqual(all.map(() => undefined))
    })

    it('are undefined for an unknown resource', async () => {
      const key = patientKeyOf('nobody', newTenant())
      expect(await reader.current([key])).toEqual([undefined])
      expect(await reader.versions([{ ...key, versionId: 1 }])).toEqual([undefined])
      expect(await reader.current([])).toEqual([])
      expect(await reader.versions([])).toEqual([])
    })

    it('are read as they were written', async () => {
      const write = writeOf(patientKeyOf('a', newTenant()), {
        compartments: ['Patient/a', 'Practitioner/b.c-D'],
        body: bytes('{"resourceType":"Patient"}'),
      })
      expect(await commit(write)).toEqual({ kind: 'committed' })
      expect(await head(write)).toEqual(versionOf(write))
    })

    it('are numbered 1, 2, 3 … without gaps', async () => {
      const key = patientKeyOf('a', newTenant())
      for (let expected = 0; expected < 5; expected++) expect(await commit(writeOf(key, { expected }))).toEqual({ kind: 'committed' })
      expect(await head(key)).toEqual(versionOf(writeOf(key, { expected: 4 })))
      const asked = [5, 1, 6, 3].map((versionId) => ({ ...key, versionId }))
      const wanted = [4, 0, undefined, 2].map((n) => (n === undefined ? undefined : versionOf(writeOf(key, { expected: n }))))
      expect(await reader.versions(asked)).toEqual(wanted)
    })

    it('are returned in the order of the keys, with gaps and repetitions', async () => {
      const tenant = newTenant()
      const [a, b, c] = [patientKeyOf('a', tenant), patientKeyOf('b', tenant), patientKeyOf('c', tenant)]
      await commit(writeOf(a), writeOf(c))
      expect((await reader.current([c, b, a, c])).map((version) => version?.id)).toEqual(['c', undefined, 'a', 'c'])
      const asked: VersionKey[] = [c, b, a, c].map((key) => ({ ...key, versionId: 1 }))
      expect((await reader.versions(asked)).map((version) => version?.id)).toEqual(['c', undefined, 'a', 'c'])
    })

    it('are returned for 250 keys at once', async () => {
      const tenant = newTenant()
      const keys = numbers(250).map((n) => patientKeyOf(`p${n}`, tenant))
      await inHundreds(keys.map((key) => writeOf(key)))
      expect((await reader.current(keys)).map((version) => version?.id)).toEqual(keys.map(({ id }) => id))
      expect((await reader.versions(keys.map((key) => ({ ...key, versionId: 1 })))).map((version) => version?.id)).toEqual(
        keys.map(({ id }) => id),
      )
    })

    it.each([
      [1, ['a']],
      [10, ['a']],
      [11, ['a', undefined, 'gone', 'b']],
      [20, ['a', undefined, 'gone', 'b']],
      [21, ['a', undefined, 'gone', 'b', 'c']],
      [1_000, ['a', undefined, 'gone', 'b', 'c', 'd']],
    ])('are returned up to the body that uses up a room of %d bytes', async (room, expected) => {
      const tenant = newTenant()
      const [a, gone, b, c, d] = ['a', 'gone', 'b', 'c', 'd'].map((id) => patientKeyOf(id, tenant)) as [ResourceKey, ...ResourceKey[]]
      await commit(...[a, gone!, b!, c!, d!].map((key) => writeOf(key, { body: bytes('0123456789') })))
      await commit(deletionOf(gone!, { expected: 1 }))
      const keys = [a, patientKeyOf('unknown', tenant), gone!, b!, c!, d!]
      const numbered = keys.map((key) => ({ ...key, versionId: key === gone ? 2 : 1 }))
      expect((await reader.current(keys, room)).map((version) => version?.id)).toEqual(expected)
      expect((await reader.heads(keys, room)).map((version) => version?.id)).toEqual(expected)
      expect((await reader.versions(numbered, room)).map((version) => version?.id)).toEqual(expected)
    })

    it('continue over a deletion, which is a version without a body', async () => {
      const key = patientKeyOf('a', newTenant())
      const compartments = ['Patient/a']
      await commit(writeOf(key, { compartments }))
      const deletion = deletionOf(key, { expected: 1, compartments })
      expect(await commit(deletion)).toEqual({ kind: 'committed' })
      expect(await head(key)).toEqual({ ...versionOf(deletion), versionId: 2, deleted: true, body: new Uint8Array(), compartments })
      expect(await commit(writeOf(key, { expected: 2 }))).toEqual({ kind: 'committed' })
      expect(await head(key)).toMatchObject({ versionId: 3, deleted: false })
      expect((await reader.versions([{ ...key, versionId: 2 }]))[0]).toMatchObject({ deleted: true })
    })
  })

  describe(`${name}: races`, () => {
    it(
      `add ${racers} versions for ${racers} concurrent updates, and lose none`,
      async () => {
        const key = patientKeyOf('contended', newTenant())
        await commit(writeOf(key))
        await Promise.all(numbers(racers).map((racer) => updateUntilDone(key, `racer ${racer}`)))
        const last = await head(key)
        expect(last?.versionId).toBe(racers + 1)
        const all = await reader.versions(numbers(racers + 1).map((n) => ({ ...key, versionId: n + 1 })))
        const bodies = all.slice(1).map((version) => text(version?.body))
        expect(bodies.toSorted()).toEqual(
          numbers(racers)
            .map((racer) => `racer ${racer}`)
            .toSorted(),
        )
        const instants = all.map((version) => version?.lastUpdated ?? 0)
        expect(instants).toEqual([...new Set(instants)].toSorted((a, b) => a - b))
      },
      timeout,
    )

    it('let one of several creates win, and report conflicts to the others', async () => {
      const key = patientKeyOf('wanted', newTenant())
      const results = await Promise.all(numbers(20).map((racer) => commit(writeOf(key, { body: bytes(`racer ${racer}`) }))))
      const winner = results.findIndex(({ kind }) => kind === 'committed')
      const won = versionOf(writeOf(key, { body: bytes(`racer ${winner}`) }))
      const lost = { kind: 'conflict', index: 0 }
      expect(results).toEqual(numbers(20).map((racer) => (racer === winner ? { kind: 'committed' } : lost)))
      expect(await head(key)).toEqual(won)
    })

    it('end in a conflict for any other expected version than the current one', async () => {
      const key = patientKeyOf('a', newTenant())
      expect(await commit(writeOf(key, { expected: 1 }))).toEqual({ kind: 'conflict', index: 0 })
      await commit(writeOf(key))
      await commit(deletionOf(key, { expected: 1 }))
      for (const expected of [0, 1, 3]) expect(await commit(writeOf(key, { expected }))).toEqual({ kind: 'conflict', index: 0 })
      expect(await head(key)).toEqual(versionOf(deletionOf(key, { expected: 1 })))
    })
  })

  describe(`${name}: a commit`, () => {
    for (const size of [...new Set([2, 25, 100, 101, 150, largestCommit])]) {
      it(
        `stores all of ${size} writes`,
        async () => {
          const writes = manyWrites(newTenant(), size)
          expect(await commit(...writes)).toEqual({ kind: 'committed' })
          for (const some of chunks(writes, 500)) expect(await reader.current(some)).toEqual(some.map(versionOf))
        },
        timeout,
      )
    }

    for (const [size, where] of [
      [2, 1],
      [40, 0],
      [100, 57],
      [150, 149],
    ] as const) {
      it(
        `rejects all of ${size} writes for a conflict at entry ${where}, and names the entry`,
        async () => {
          const writes = manyWrites(newTenant(), size)
          const other = writeOf(writes[where]!, { body: bytes('was here first') })
          await commit(other)
          expect(await commit(...writes)).toEqual({ kind: 'conflict', index: where })
          const heads = await reader.current(writes)
          expect(heads.filter((version) => version !== undefined)).toEqual([versionOf(other)])
        },
        timeout,
      )
    }

    it('creates, updates and deletes resources of several types at once', async () => {
      const tenant = newTenant()
      const [updated, deleted] = [patientKeyOf('updated', tenant), resourceKeyOf(tenant, 'Observation', 'deleted')]
      await commit(writeOf(updated), writeOf(deleted))
      const created = writeOf(resourceKeyOf(tenant, 'Encounter', 'created'))
      await commit(writeOf(updated, { expected: 1 }), created, deletionOf(deleted, { expected: 1 }))
      const heads = await reader.current([updated, created, deleted])
      expect(heads.map((version) => [version?.type, version?.versionId, version?.deleted])).toEqual([
        ['Patient', 2, false],
        ['Encounter', 1, false],
        ['Observation', 2, true],
      ])
    })

    it(
      'is never visible in part, and reads never go back in time',
      async () => {
        const tenant = newTenant()
        const keys = numbers(6).map((n) => resourceKeyOf(tenant, n % 2 === 0 ? 'Patient' : 'Observation', `shared-${n}`))
        await commit(...keys.map((key) => writeOf(key, { body: bytes('0') })))
        let done = false
        const writers = Promise.all(numbers(4).map((w) => commitTogether(keys, rounds, `${w}`))).finally(() => {
          done = true
        })
        const torn: string[] = []
        while (!done) {
          torn.push(...(await lookForTears(keys)))
          await waitOneTurn()
        }
        await writers
        expect(torn).toEqual([])
        const last = await reader.current(keys)
        expect(last.map((version) => version?.versionId)).toEqual(keys.map(() => 4 * rounds + 1))
        expect(new Set(last.map((version) => text(version?.body))).size).toBe(1)
        for (const n of numbers(4 * rounds + 1)) {
          const group = await reader.versions(keys.map((key) => ({ ...key, versionId: n + 1 })))
          expect(new Set(group.map((version) => text(version?.body))).size).toBe(1)
        }
      },
      timeout,
    )

    it('rejects a duplicate resource or guard and a second tenant with RangeError', async () => {
      const tenant = newTenant()
      const [a, b] = [patientKeyOf('a', tenant), patientKeyOf('b', tenant)]
      const guard: UniquenessGuard = { tenant, guard: 'g', holder: a }
      await expect(writer.commit([writeOf(a), writeOf(b), writeOf(a)], [])).rejects.toThrow(RangeError)
      await expect(writer.commit([writeOf(a)], [guard, { ...guard, holder: b }])).rejects.toThrow(RangeError)
      await expect(writer.commit([writeOf(a), writeOf(patientKeyOf('a', newTenant()))], [])).rejects.toThrow(RangeError)
      await expect(writer.commit([writeOf(a)], [{ ...guard, tenant: newTenant() }])).rejects.toThrow(RangeError)
      expect(await reader.current([a, b])).toEqual([undefined, undefined])
    })
  })

  describe(`${name}: guards`, () => {
    it('allow one of several concurrent commits; the others receive the holder', async () => {
      const tenant = newTenant()
      const keys = numbers(10).map((n) => patientKeyOf(`p${n}`, tenant))
      const results = await Promise.all(keys.map((key) => writer.commit([writeOf(key)], [{ tenant, guard: 'identifier=1', holder: key }])))
      const winner = results.findIndex(({ kind }) => kind === 'committed')
      const guarded = { kind: 'guarded', index: 0, holder: keys[winner] }
      expect(results).toEqual(keys.map((_, n) => (n === winner ? { kind: 'committed' } : guarded)))
      expect((await reader.current(keys)).map((version) => version !== undefined)).toEqual(keys.map((_, n) => n === winner))
    })

    it('do not block other guards, nor the same guard of another tenant', async () => {
      for (const tenant of [newTenant(), newTenant()])
        for (const guard of ['x', 'X', 'x ']) {
          const holder = patientKeyOf(`p${guard.codePointAt(0)}-${guard.length}`, tenant)
          expect(await writer.commit([writeOf(holder)], [{ tenant, guard, holder }])).toEqual({ kind: 'committed' })
        }
    })

    it('leave neither writes nor other guards of a commit that one of them blocks', async () => {
      const tenant = newTenant()
      const [a, b, c] = [patientKeyOf('a', tenant), patientKeyOf('b', tenant), patientKeyOf('c', tenant)]
      await writer.commit([writeOf(a)], [{ tenant, guard: 'taken', holder: a }])
      const guards = [
        { tenant, guard: 'free', holder: b },
        { tenant, guard: 'taken', holder: b },
      ]
      expect(await writer.commit([writeOf(b)], guards)).toEqual({ kind: 'guarded', index: 1, holder: a })
      expect(await head(b)).toBeUndefined()
      expect(await writer.commit([writeOf(c)], [{ tenant, guard: 'free', holder: c }])).toEqual({ kind: 'committed' })
    })

    it.each([2, 120])('are all named if several of a commit with %d block it', async (count) => {
      const tenant = newTenant()
      const [a, b, c] = [patientKeyOf('a', tenant), patientKeyOf('b', tenant), patientKeyOf('c', tenant)]
      const names = numbers(count).map((n) => `g${n}`)
      await writer.commit([writeOf(a)], [{ tenant, guard: names[1]!, holder: a }])
      await writer.commit([writeOf(b)], [{ tenant, guard: names[0]!, holder: b }])
      const result = await writer.commit(
        [writeOf(c)],
        names.map((guard) => ({ tenant, guard, holder: c })),
      )
      const held = result.kind === 'guarded' ? [{ index: result.index, holder: result.holder }, ...(result.others ?? [])] : []
      expect(held.toSorted((one, other) => one.index - other.index)).toEqual([
        { index: 0, holder: b },
        { index: 1, holder: a },
      ])
    })

    it('are not acquired by a commit with a version conflict', async () => {
      const tenant = newTenant()
      const [a, b] = [patientKeyOf('a', tenant), patientKeyOf('b', tenant)]
      await commit(writeOf(a))
      expect(await writer.commit([writeOf(a)], [{ tenant, guard: 'g', holder: a }])).toMatchObject({ kind: 'conflict', index: 0 })
      expect(await writer.commit([writeOf(b)], [{ tenant, guard: 'g', holder: b }])).toEqual({ kind: 'committed' })
    })

    it('can be acquired again by their holder', async () => {
      const tenant = newTenant()
      const holder = patientKeyOf('a', tenant)
      for (const expected of [0, 1])
        expect(await writer.commit([writeOf(holder, { expected })], [{ tenant, guard: 'g', holder }])).toEqual({ kind: 'committed' })
    })

    it('are taken over only by naming the holder, and by one of several commits', async () => {
      const tenant = newTenant()
      const old = patientKeyOf('old', tenant)
      await writer.commit([writeOf(old)], [{ tenant, guard: 'g', holder: old }])
      const wrong = patientKeyOf('wrong', tenant)
      const mistaken = await writer.commit(
        [writeOf(wrong)],
        [{ tenant, guard: 'g', holder: wrong, replaces: patientKeyOf('another', tenant) }],
      )
      expect(mistaken).toEqual({ kind: 'guarded', index: 0, holder: old })
      const keys = numbers(8).map((n) => patientKeyOf(`new${n}`, tenant))
      const results = await Promise.all(
        keys.map((key) => writer.commit([writeOf(key)], [{ tenant, guard: 'g', holder: key, replaces: old }])),
      )
      const winner = results.findIndex(({ kind }) => kind === 'committed')
      expect(results).toEqual(
        keys.map((_, n) => (n === winner ? { kind: 'committed' } : { kind: 'guarded', index: 0, holder: keys[winner] })),
      )
    })

    it(
      'are acquired all or none by a commit of 60 writes and 60 guards',
      async () => {
        const tenant = newTenant()
        const commitOf = (prefix: string) => {
          const keys = numbers(60).map((n) => patientKeyOf(`${prefix}${n}`, tenant))
          return { keys, writes: keys.map((key) => writeOf(key)), guards: keys.map((holder, n) => ({ tenant, guard: `g${n}`, holder })) }
        }
        const [a, b] = [commitOf('a'), commitOf('b')]
        const results = await Promise.all([a, b].map(({ writes, guards }) => writer.commit(writes, guards)))
        const [won, lost] = results[0]?.kind === 'committed' ? [a, b] : [b, a]
        expect(results.map(({ kind }) => kind).toSorted()).toEqual(['committed', 'guarded'])
        expect((await reader.current(lost.keys)).every((version) => version === undefined)).toBe(true)
        expect((await reader.current(won.keys)).every((version) => version?.versionId === 1)).toBe(true)
      },
      timeout,
    )
  })

  describe(`${name}: history`, () => {
    const tenant = newTenant()
    const all: ResourceVersion[] = []
    beforeAll(async () => {
      all.push(...(await writeALife(tenant)))
    }, timeout)

    const scopes: readonly (readonly [string, HistoryScope])[] = [
      ['of a resource', resourceKeyOf(tenant, 'Patient', 'p1')],
      ['of a type', { tenant, type: 'Observation' }],
      ['of everything', { tenant }],
    ]
    const windows: readonly (readonly [string, HistoryWindow])[] = [
      ['without a window', {}],
      ['since an instant, itself included', { since: instantAt(7) }],
      ['before an instant, itself excluded', { before: instantAt(7) }],
      ['between two instants', { since: instantAt(3), before: instantAt(11) }],
      ['leaving out what was superseded at an instant', { currentAt: instantAt(6) }],
      ['as it was at an instant', { before: instantAt(6) + 1, currentAt: instantAt(6) }],
      ['as it was before it was written', { before: instantAt(0), currentAt: instantAt(0) }],
      ['since the future', { since: instantAt(1000) }],
    ]

    for (const [what, scope] of scopes)
      for (const [how, window] of windows)
        it(`${what} ${how} is complete, newest first, page by page`, async () => {
          const wanted = historyOf(all, scope, window)
          for (const limit of [1000, 7, wanted.length || 1]) {
            const found = await pages(scope, window, limit)
            expect(found.map(nameOf)).toEqual(wanted.map(nameOf))
          }
          expect(await pages(scope, window, 1000)).toEqual(wanted)
        })

    it('pages one version at a time, also among versions of one instant', async () => {
      const wanted = historyOf(all, { tenant, type: 'Observation' }, {})
      expect((await pages({ tenant, type: 'Observation' }, {}, 1)).map(nameOf)).toEqual(wanted.map(nameOf))
    })

    it('continues after a position without a version', async () => {
      const between: HistoryPosition = { lastUpdated: instantAt(5), type: 'Observation', id: 'o1zzz', versionId: 1 }
      const wanted = historyOf(all, { tenant }, {}).filter((version) => byPosition(between, version) < 0)
      const found = await reader.history({ tenant }, {}, between, 1000)
      expect(found.versions.map(nameOf)).toEqual(wanted.map(nameOf))
    })

    it('returns whether there is more', async () => {
      const scope = { tenant, type: 'Patient' }
      const count = historyOf(all, scope, {}).length
      expect(await reader.history(scope, {}, undefined, count)).toMatchObject({ more: false })
      expect(await reader.history(scope, {}, undefined, count - 1)).toMatchObject({ more: true })
    })

    it('is empty for an unknown resource, type or tenant', async () => {
      const empty = { versions: [], more: false }
      expect(await reader.history({ tenant, type: 'Patient', id: 'nobody' }, {}, undefined, 10)).toEqual(empty)
      expect(await reader.history({ tenant, type: 'Nothing' }, {}, undefined, 10)).toEqual(empty)
      expect(await reader.history({ tenant: newTenant() }, {}, undefined, 10)).toEqual(empty)
    })

    it('stays the same during paging with concurrent writes', async () => {
      const own = newTenant()
      const before = await writeALife(own)
      let written = 0
      const during = async () => {
        await commit(writeOf(resourceKeyOf(own, 'Observation', `later-${written}`), { lastUpdated: instantAt(500 + written) }))
        written += 1
      }
      for (const scope of [{ tenant: own }, { tenant: own, type: 'Observation' }]) {
        const window = { before: instantAt(500) }
        const found = await pages(scope, window, 9, during)
        expect(found.map(nameOf)).toEqual(historyOf(before, scope, window).map(nameOf))
      }
      expect(written).toBeGreaterThan(5)
    })
  })

  describe(`${name}: scan`, () => {
    const tenant = newTenant()
    const all: ResourceVersion[] = []
    beforeAll(async () => {
      all.push(...(await writeALife(tenant)))
    }, timeout)

    const wantedOf = (type: string, asOf: number, since = -1) =>
      [...new Set(all.filter((version) => version.type === type).map(({ id }) => id))]
        .flatMap((id) => historyOf(all, { tenant, type, id }, { before: asOf + 1 }).slice(0, 1))
        .filter(({ deleted, lastUpdated }) => !deleted && lastUpdated > since)
        .map(nameOf)
        .toSorted()

    for (const cuts of [[], [5], [0, 3, 4, 9, 400]])
      it(`returns each live resource once over ${cuts.length + 1} parts, by page and by cursor`, async () => {
        for (const type of ['Patient', 'Observation', 'Encounter', 'Nothing'])
          for (const limit of pageSizes) {
            const parts = cutAt({ tenant, type, asOf: instantAt(400), limit }, cuts.map(instantAt))
            const found = await Promise.all(parts.map((part) => scanAll(part)))
            expect(found.flat().map(nameOf).toSorted()).toEqual(wantedOf(type, instantAt(400)))
            const again = await Promise.all(parts.map((part) => scanAll(part, undefined, true)))
            expect(again.flat().map(nameOf).toSorted()).toEqual(wantedOf(type, instantAt(400)))
          }
      })

    it('includes deletions on request: each resource that ever existed, once', async () => {
      for (const asOf of [6, 400]) {
        const found = await scanAll({ tenant, type: 'Observation', asOf: instantAt(asOf), deletions: true, limit: 3 })
        const there = found.filter(({ deleted }) => !deleted)
        expect(there.map(nameOf).toSorted()).toEqual(wantedOf('Observation', instantAt(asOf)))
        const ever = all.filter(({ type, lastUpdated }) => type === 'Observation' && lastUpdated <= instantAt(asOf)).map(({ id }) => id)
        expect(found.map(({ id }) => id).toSorted()).toEqual([...new Set(ever)].toSorted())
        const deletion = found.find(({ deleted }) => deleted)!
        expect(deletion).toEqual(all.find((version) => nameOf(version) === nameOf(deletion)))
      }
    })

    it('can be cut into parts of about the requested size', async () => {
      const own = newTenant()
      await inHundreds(numbers(90).map((n) => writeOf(patientKeyOf(`p${n}`, own), { lastUpdated: instantAt(n) })))
      const request = { tenant: own, type: 'Patient', asOf: instantAt(400) }
      const { entries, cuts } = await reader.extent(request, 30)
      expect([entries, cuts.length]).toEqual([90, 2])
      const parts = await Promise.all(cutAt({ ...request, limit: 1000 }, cuts).map((part) => scanAll(part)))
      expect(parts.map(({ length }) => length)).toEqual([30, 30, 30])
      expect(await reader.extent({ ...request, since: instantAt(19), until: instantAt(69) }, 1000)).toEqual({ entries: 50, cuts: [] })
      expect((await reader.extent({ ...request, since: instantAt(19), until: instantAt(69) }, 25)).cuts).toEqual([instantAt(45) - 1])
      expect(await reader.extent({ ...request, asOf: -1 }, 10)).toEqual({ entries: 0, cuts: [] })
      expect(await reader.extent({ ...request, type: 'Nothing' }, 10)).toEqual({ entries: 0, cuts: [] })
    })

    it('continues a count that ended early, and ends it at an earlier instant each time', async () => {
      const own = newTenant()
      await inHundreds(numbers(90).map((n) => writeOf(patientKeyOf(`p${n}`, own), { lastUpdated: instantAt(Math.floor(n / 20)) })))
      const request = { tenant: own, type: 'Patient', asOf: instantAt(400), limit: 1000 }
      const ends: number[] = []
      for (let until: number | undefined = request.asOf; until !== undefined; ) {
        const { cuts, rest }: ScanExtent = await reader.extent({ ...request, until }, 7, () => true)
        ends.unshift(...(rest === undefined ? [] : [rest]), ...cuts)
        expect(rest ?? -1).toBeLessThan(until)
        until = rest
      }
      const parts = await Promise.all(cutAt(request, ends).map((part) => scanAll(part)))
      expect(parts.map(({ length }) => length).filter((length) => length > 0)).toEqual([20, 20, 20, 20, 10])
    })

    it('is never cut within one instant', async () => {
      const own = newTenant()
      await commit(...numbers(40).map((n) => writeOf(patientKeyOf(`p${n}`, own), { lastUpdated: instantAt(n < 30 ? 1 : 2) })))
      const request = { tenant: own, type: 'Patient', asOf: instantAt(400), limit: 1000 }
      const { entries, cuts } = await reader.extent(request, 7)
      const parts = await Promise.all(cutAt(request, cuts).map((part) => scanAll(part)))
      expect([entries, parts.map(({ length }) => length).filter((length) => length > 0)]).toEqual([40, [30, 10]])
    })

    it('returns whole versions', async () => {
      const found = await scanAll({ tenant, type: 'Observation', asOf: instantAt(400), limit: 1000 })
      const wanted = all.filter((version) => found.map(nameOf).includes(nameOf(version)))
      expect(found.toSorted(byPosition)).toEqual(wanted.toSorted(byPosition))
    })

    it('returns the versions that were current at a past instant', async () => {
      for (const instant of [-1, 0, 3, 6, 9, 12])
        for (const type of ['Patient', 'Observation']) {
          for (const until of [{}, { until: instantAt(instant + 2) }]) {
            const found = await scanAll({ tenant, type, asOf: instantAt(instant), limit: 3, ...until })
            expect(found.map(nameOf).toSorted()).toEqual(wantedOf(type, instantAt(instant)))
          }
        }
    })

    it('returns only versions written after an instant, itself excluded', async () => {
      for (const since of [0, 4, 8, 100])
        for (const asOf of [6, 400]) {
          const found = await scanAll({
            tenant,
            type: 'Observation',
            asOf: instantAt(asOf),
            since: instantAt(since),
            limit: 3,
          })
          expect(found.map(nameOf).toSorted()).toEqual(wantedOf('Observation', instantAt(asOf), instantAt(since)))
        }
    })

    it('continues past deletions: only a page without a cursor is the last', async () => {
      const own = newTenant()
      const keys = numbers(8).map((n) => patientKeyOf(`p${n}`, own))
      await commit(...keys.map((key, n) => writeOf(key, { lastUpdated: instantAt(n) })))
      await commit(...keys.slice(3).map((key, n) => deletionOf(key, { expected: 1, lastUpdated: instantAt(10 + n) })))
      for (const byCursors of [false, true]) {
        const found = await scanAll({ tenant: own, type: 'Patient', asOf: instantAt(400), limit: 1 }, undefined, byCursors)
        expect(found.map(nameOf).toSorted()).toEqual(['Patient/p0/1', 'Patient/p1/1', 'Patient/p2/1'])
      }
    })

    it('returns each resource once, as of the instant, during concurrent writes', async () => {
      const own = newTenant()
      const keys = numbers(40).map((n) => patientKeyOf(`p${n}`, own))
      await inHundreds(keys.map((key) => writeOf(key)))
      let round = 0
      const during = async () => {
        const writes = keys.filter((_, n) => n % 8 === round % 8).map((key) => ({ key, expected: 1 + Math.floor(round / 8) }))
        await commit(...writes.map(({ key, expected }) => writeOf(key, { expected, lastUpdated: instantAt(500 + round) })))
        await commit(writeOf(patientKeyOf(`new${round}`, own), { lastUpdated: instantAt(500 + round) }))
        round += 1
      }
      for (const byCursors of [false, true]) {
        const found = await scanAll({ tenant: own, type: 'Patient', asOf: instantAt(400), limit: 4 }, during, byCursors)
        expect(found.map(nameOf).toSorted()).toEqual(keys.map(({ id }) => `Patient/${id}/1`).toSorted())
      }
      expect(round).toBeGreaterThan(10)
    })
  })

  describe(`${name}: tenants`, () => {
    it('are isolated from each other, whatever their names', async () => {
      const tenants = ['', '-', 'A', 'a', '%', "'"].map((suffix) => `${newTenant()}${suffix}`)
      const nested = [...tenants, `${tenants[1]}-`]
      for (const [n, tenant] of nested.entries()) {
        const key = patientKeyOf('same', tenant)
        for (let expected = 0; expected <= n % 3; expected++)
          expect(await commit(writeOf(key, { expected, body: bytes(tenant) }))).toEqual({ kind: 'committed' })
      }
      for (const [n, tenant] of nested.entries()) {
        const key = patientKeyOf('same', tenant)
        expect(await head(key)).toMatchObject({ tenant, versionId: (n % 3) + 1, body: bytes(tenant) })
        for (const scope of [{ tenant }, { tenant, type: 'Patient' }, key]) {
          const { versions } = await reader.history(scope, {}, undefined, 100)
          expect(versions.map((version) => version.tenant)).toEqual(numbers((n % 3) + 1).map(() => tenant))
        }
        const found = await scanAll({ tenant, type: 'Patient', asOf: instantAt(400), limit: 10 })
        expect(found.map((version) => text(version.body))).toEqual([tenant])
      }
    })
  })

  describe(`${name}: names`, () => {
    it('are distinct for every allowed character, case and length', async () => {
      const tenant = newTenant()
      const ids = [
        'a',
        'A',
        'aa',
        '.',
        '..',
        '-',
        '--',
        '0',
        '00',
        '1',
        'a.b-C',
        'x'.repeat(64),
        'X'.repeat(64),
        '3f8e5c0e-6f0a-4b0e-9f4b-0d6f5a1c2b3d',
      ]
      const keys = ['Patient', 'MedicinalProductUndesirableEffect'].flatMap((type) => ids.map((id) => resourceKeyOf(tenant, type, id)))
      expect(await commit(...keys.map((key) => writeOf(key, { body: bytes(`${key.type}/${key.id}`) })))).toEqual({ kind: 'committed' })
      expect((await reader.current(keys)).map((version) => text(version?.body))).toEqual(keys.map(({ type, id }) => `${type}/${id}`))
      const listed = await pages({ tenant, type: 'Patient' }, {}, 5)
      expect(listed.map(({ id }) => id)).toEqual(ids.toSorted())
    })
  })

  describe(`${name}: bodies`, () => {
    it('are read byte for byte, whatever the bytes', async () => {
      const tenant = newTenant()
      const every = Uint8Array.from({ length: 256 }, (_, n) => n)
      const bodies = [
        new Uint8Array(),
        Uint8Array.of(0),
        Uint8Array.of(255),
        every,
        bytes('{"text":"Zoë 🙂 \\u0000"}'),
        every.subarray(3, 7),
      ]
      const writes = bodies.map((body, n) => writeOf(resourceKeyOf(tenant, 'Binary', `b${n}`), { body }))
      await commit(...writes)
      for (const [n, version] of (await reader.current(writes)).entries()) expect(same(version?.body, bodies[n])).toBe(true)
      const { versions } = await reader.history({ tenant }, {}, undefined, 100)
      expect(versions.map((version) => version.body.length).toSorted()).toEqual(bodies.map((body) => body.length).toSorted())
    })

    it(
      `are up to ${largestBody.toLocaleString('en')} bytes long`,
      async () => {
        const tenant = newTenant()
        const lengths = [4_096, 65_536, 350_000, 409_600, 1_000_000, 5_000_000].filter((length) => length < largestBody)
        for (const [n, length] of [...lengths, largestBody].entries()) {
          const key = resourceKeyOf(tenant, 'Binary', 'large')
          const body = noise(length)
          expect(await commit(writeOf(key, { expected: n, body }))).toEqual({ kind: 'committed' })
          expect(same((await head(key))?.body, body)).toBe(true)
        }
        const past = await reader.versions(
          [...lengths.keys()].map((n) => ({ ...resourceKeyOf(tenant, 'Binary', 'large'), versionId: n + 1 })),
        )
        expect(past.map((version, n) => same(version?.body, noise(lengths[n]!)))).toEqual(lengths.map(() => true))
        const { versions } = await reader.history(resourceKeyOf(tenant, 'Binary', 'large'), {}, undefined, 2)
        expect(same(versions[0]?.body, noise(largestBody))).toBe(true)
      },
      timeout,
    )

    it('are rejected as store-damaged after a change in storage, and other versions are served', async () => {
      const tenant = newTenant()
      const key = patientKeyOf('changed', tenant)
      const body = bytes(JSON.stringify({ resourceType: 'Patient', birthDate: '1970-01-01' }))
      await commit(writeOf(key, { body }), writeOf(patientKeyOf('sound', tenant), { body }))
      await commit(writeOf(key, { body, expected: 1 }))
      await damage({ ...key, versionId: 2 })
      const past = { tenant, type: 'Patient', asOf: Number.MAX_SAFE_INTEGER, limit: 10 }
      for (const read of [
        () => reader.current([key]),
        () => reader.versions([{ ...key, versionId: 2 }]),
        () => reader.history(key, {}, undefined, 10),
        () => reader.history({ tenant, type: 'Patient' }, {}, undefined, 10),
        () => scanAll(past),
      ])
        await expect(read()).rejects.toThrow(fault('store-damaged'))
      expect(same((await head(patientKeyOf('sound', tenant)))?.body, body)).toBe(true)
      expect(same((await reader.versions([{ ...key, versionId: 1 }]))[0]?.body, body)).toBe(true)
      expect(await commit(writeOf(patientKeyOf('later', tenant)))).toEqual({ kind: 'committed' })
    })

    it('are reported by version after damage, and later writes succeed', async () => {
      const tenant = newTenant()
      const [rotten, sound, unknown] = ['rotten', 'sound', 'unknown'].map((id) => patientKeyOf(id, tenant)) as ResourceKey[]
      const writes = [writeOf(rotten!), writeOf(sound!)]
      await commit(...writes)
      await damage({ ...rotten!, versionId: 1 })
      const damaged = { ...rotten, versionId: 1, deleted: false, damage: fault('store-damaged') }
      expect(await reader.heads([rotten!, sound!, unknown!])).toEqual([damaged, versionOf(writes[1]!), undefined])
      expect(await reader.heads([rotten!])).toEqual([damaged])
      const [second, deletion] = [writeOf(rotten!, { expected: 1 }), deletionOf(rotten!, { expected: 2 })]
      expect([await commit(second), await head(rotten!)]).toEqual([{ kind: 'committed' }, versionOf(second)])
      expect([await commit(deletion), await head(rotten!)]).toEqual([{ kind: 'committed' }, versionOf(deletion)])
      await expect(reader.versions([{ ...rotten!, versionId: 1 }])).rejects.toThrow(fault('store-damaged'))
      await expect(reader.history(rotten!, {}, undefined, 10)).rejects.toThrow(fault('store-damaged'))
    })

    it('are reported one by one by a scan with tellsDamaged, for every page size', async () => {
      const tenant = newTenant()
      const keys = numbers(9).map((n) => patientKeyOf(`scanned${n}`, tenant))
      const writes = keys.map((key, n) => writeOf(key, { lastUpdated: instantAt(n + 1) }))
      await commit(...writes)
      for (const n of [0, 3, 4, 5, 8]) await damage({ ...keys[n]!, versionId: 1 })
      const [deleted, superseded] = [
        deletionOf(keys[4]!, { expected: 1, lastUpdated: instantAt(20) }),
        writeOf(keys[5]!, { expected: 1, lastUpdated: instantAt(20) }),
      ]
      await commit(deleted, superseded)
      const told = (n: number) => ({ ...keys[n], versionId: 1, deleted: false, damage: fault('store-damaged') })
      const byId = (a: ResourceKey, b: ResourceKey) => (a.id < b.id ? -1 : 1)
      for (const limit of [1, 2, 100]) {
        const pages: ScanPage[] = []
        for await (const page of reader.scan({ tenant, type: 'Patient', asOf: instantAt(30), limit, tellsDamaged: true })) pages.push(page)
        expect(pages.every(({ versions, damaged = [] }) => versions.length + damaged.length <= limit)).toBe(true)
        expect(pages.flatMap(({ damaged = [] }) => damaged).toSorted(byId)).toEqual([0, 3, 8].map(told))
        expect(pages.flatMap(({ versions }) => versions).toSorted(byId)).toEqual(
          [writes[1]!, writes[2]!, superseded, writes[6]!, writes[7]!].map(versionOf),
        )
      }
      const before = { tenant, type: 'Patient', asOf: instantAt(10), limit: 100 }
      for await (const { damaged } of reader.scan({ ...before, since: instantAt(4), until: instantAt(6), tellsDamaged: true }))
        expect(damaged?.toSorted(byId)).toEqual([4, 5].map(told))
      await expect(scanAll(before)).rejects.toThrow(fault('store-damaged'))
    })

    it('are not read by a history with placesOnly, even if damaged', async () => {
      const tenant = newTenant()
      const key = patientKeyOf('placesOnly', tenant)
      const writes = [
        writeOf(key, { lastUpdated: instantAt(1), compartments: ['Patient/a'] }),
        deletionOf(key, { expected: 1, lastUpdated: instantAt(2) }),
      ]
      await commit(writes[0]!)
      await damage({ ...key, versionId: 1 })
      await commit(writes[1]!)
      const places = writes.map((write) => ({ ...versionOf(write), compartments: [], body: new Uint8Array() })).toReversed()
      for (const scope of [key, { tenant, type: 'Patient' }, { tenant }])
        expect(await reader.history(scope, { placesOnly: true }, undefined, 10)).toEqual({ versions: places, more: false })
    })

    it('fit into one commit even if they are large', async () => {
      const tenant = newTenant()
      const writes = numbers(6).map((n) =>
        writeOf(resourceKeyOf(tenant, 'Binary', `b${n}`), { body: noise(Math.min(1_200_000, largestBody) + n) }),
      )
      expect(await commit(...writes)).toEqual({ kind: 'committed' })
      const heads = await reader.current(writes)
      expect(heads.map((version, n) => same(version?.body, writes[n]!.body))).toEqual(writes.map(() => true))
    })
  })

  async function updateUntilDone(key: ResourceKey, body: string): Promise<void> {
    for (;;) {
      const met = (await head(key))!
      const result = await commit(writeOf(key, { expected: met.versionId, lastUpdated: met.lastUpdated + 1, body: bytes(body) }))
      if (result.kind === 'committed') return
    }
  }

  /** `times` commits of all keys with one body each; conflicts are tried again. */
  async function commitTogether(keys: readonly ResourceKey[], times: number, by: string): Promise<void> {
    for (let done = 0; done < times; ) {
      const heads = await reader.current(keys)
      const body = bytes(`${by}/${done}`)
      const result = await commit(
        ...keys.map((key, n) => writeOf(key, { expected: heads[n]!.versionId, lastUpdated: instantAt(heads[n]!.versionId), body })),
      )
      if (result.kind === 'committed') done += 1
    }
  }

  /** Two equal readings in a row were true at one moment: all keys then have one version. A later reading is never older. */
  async function lookForTears(keys: readonly ResourceKey[]): Promise<readonly string[]> {
    const read = async () => (await reader.current(keys)).map((version) => `${version?.versionId} ${text(version?.body)}`)
    const [first, second] = [await read(), await read()]
    const isTorn = first.join() === second.join() && new Set(first).size > 1
    const one = (await head(keys[0]!))!.versionId
    const other = (await head(keys.at(-1)!))!.versionId
    return [...(isTorn ? [`half a commit: ${first.join()}`] : []), ...(other < one ? [`saw ${one}, then ${other}`] : [])]
  }

  async function pages(scope: HistoryScope, window: HistoryWindow, limit: number, between = async () => {}): Promise<ResourceVersion[]> {
    const found: ResourceVersion[] = []
    for (;;) {
      const { versions, more } = await reader.history(scope, window, found.at(-1), limit)
      expect(versions.length).toBeLessThanOrEqual(limit)
      found.push(...versions)
      if (!more) return found
      expect(versions.length).toBeGreaterThan(0)
      await between()
    }
  }

  /** Goes on by itself, or by cursors: then each page is read by a scan of its own. */
  async function scanAll(request: ScanRequest, between = async () => {}, byCursors = false): Promise<ResourceVersion[]> {
    const found: ResourceVersion[] = []
    let from: string | undefined
    do {
      const begun = from
      from = undefined
      for await (const { versions, cursor } of reader.scan(begun === undefined ? request : { ...request, cursor: begun })) {
        expect(versions.length).toBeLessThanOrEqual(request.limit)
        found.push(...versions)
        await between()
        from = byCursors ? cursor : undefined
        if (from !== undefined) break
      }
    } while (from !== undefined)
    return found
  }

  /** Parts of a scan, one for each instant it is cut at and one more. */
  const cutAt = (request: ScanRequest, cuts: readonly number[]): readonly ScanRequest[] =>
    [undefined, ...cuts].map((since, n) => ({
      ...request,
      ...(since === undefined ? {} : { since }),
      ...(cuts[n] === undefined ? {} : { until: cuts[n] }),
    }))

  async function inHundreds(writes: readonly Write[]): Promise<void> {
    for (const some of chunks(writes, 100)) expect(await commit(...some)).toEqual({ kind: 'committed' })
  }

  /** 15 rounds over three types: creates, updates, deletions, undeletions, several at one instant. All the versions there are then. */
  async function writeALife(tenant: string): Promise<readonly ResourceVersion[]> {
    const heads = new Map<string, number>()
    const versions: ResourceVersion[] = []
    const random = dice(7)
    for (let round = 0; round < 15; round++) {
      const keys = [
        ...numbers(3).map((n) => resourceKeyOf(tenant, 'Patient', `p${n}`)),
        ...numbers(9).map((n) => resourceKeyOf(tenant, 'Observation', `o${n}`)),
      ]
      if (round === 4) keys.push(resourceKeyOf(tenant, 'Encounter', 'e'))
      const writes = keys
        .filter(({ type, id }) => `${type}/${id}` === 'Patient/p1' || type === 'Encounter' || random(3) === 0)
        .map((key) => {
          const expected = heads.get(`${key.type}/${key.id}`) ?? 0
          heads.set(`${key.type}/${key.id}`, expected + 1)
          const changes = { expected, lastUpdated: instantAt(round), compartments: ['Patient/p1'] }
          return expected > 0 && random(4) === 0 ? deletionOf(key, changes) : writeOf(key, { ...changes, body: bytes(`round ${round}`) })
        })
      expect(await commit(...writes)).toEqual({ kind: 'committed' })
      versions.push(...writes.map(versionOf))
    }
    return versions
  }
}

const newTenant = (): string => `t-${randomUUID()}`

const manyWrites = (tenant: string, count: number): readonly Write[] =>
  numbers(count).map((n) =>
    writeOf(resourceKeyOf(tenant, n % 3 === 0 ? 'Patient' : 'Observation', `r${n}`), {
      compartments: [`Patient/r${n % 7}`],
      made: WRITE_KINDS[n % WRITE_KINDS.length]!,
    }),
  )

function historyOf(all: readonly ResourceVersion[], { tenant, type, id }: HistoryScope, window: HistoryWindow): readonly ResourceVersion[] {
  const { since = 0, before = Number.MAX_SAFE_INTEGER, currentAt } = window
  const isSuperseded = (version: ResourceVersion) =>
    all.some((next) => sameKey(next, version) && next.versionId === version.versionId + 1 && next.lastUpdated <= currentAt!)
  return all
    .filter(
      (version) => version.tenant === tenant && (type === undefined || version.type === type) && (id === undefined || version.id === id),
    )
    .filter(({ lastUpdated }) => lastUpdated >= since && lastUpdated < before)
    .filter((version) => currentAt === undefined || !isSuperseded(version))
    .toSorted(byPosition)
}

const sameKey = (a: ResourceKey, b: ResourceKey): boolean => a.tenant === b.tenant && a.type === b.type && a.id === b.id

const byPosition = (a: HistoryPosition, b: HistoryPosition): number =>
  b.lastUpdated - a.lastUpdated || byCodeUnits(a.type, b.type) || byCodeUnits(a.id, b.id) || b.versionId - a.versionId

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const nameOf = ({ type, id, versionId }: ResourceVersion): string => `${type}/${id}/${versionId}`

const numbers = (count: number): readonly number[] => [...Array(count).keys()]

const chunks = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  numbers(Math.ceil(all.length / size)).map((n) => all.slice(n * size, (n + 1) * size))

const bytes = (content: string): Uint8Array => new TextEncoder().encode(content)

const text = (content: Uint8Array | undefined): string => new TextDecoder().decode(content)

const same = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.compare(a, b) === 0

/** Numbers below `sides` in an order that looks random and is always the same. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 16) % sides
  }
}

/** Bytes that do not compress. */
const noise = (length: number): Uint8Array => createHash('shake256', { outputLength: length }).update(`${length}`).digest()
