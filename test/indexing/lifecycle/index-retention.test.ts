/** Upgrades and rollbacks: all documents end in the running format, no write is lost, and a retained index needs only later writes. */
import { describe, expect, it } from '@jest/globals'
import {
  changeFormat,
  hasExpiredIndex,
  rebuildPathOf,
  recordFollowedVersions,
  recordMissedVersions,
  replaceIndex,
  requestOutdatedRebuilds,
} from '../../../lambdas/indexing/lifecycle/index-retention.ts'
import { requestRebuild } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { addIndices, markLost, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import { encode } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { patientKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'
import { createRebuildWorld, type RebuildWorld, TENANT } from '../rebuilt-world.ts'

const SEEDS = caseCountOf(20, 200)

/** A world with patients, indexed by release 1. */
async function deployed(seed: number, patients = 40): Promise<RebuildWorld> {
  const made = await createRebuildWorld(seed, patients)
  await made.state.change((state) => ({ ...addIndices(withIdentity(state, 'first'), ['Patient'], 'first'), extraction: '1' }))
  return made
}

/** Deploys the functions first, then migrates. */
async function deploy(it: RebuildWorld, release: number): Promise<void> {
  it.release = release
  await migrate(it)
}

/** Migrates two of all types. */
const migrate = (it: RebuildWorld) =>
  it.state.change((before) => {
    const after = changeFormat(before, String(it.release), it.now + 1)
    return { ...after, rebuilds: after.rebuilds.filter(({ type }) => type === 'Patient' || type === 'Observation') }
  })

async function upgraded(seed: number): Promise<RebuildWorld> {
  const it = await deployed(seed)
  await deploy(it, 2)
  await it.run('a')
  return it
}

const copies = ({ indices: { live, next, kept } }: RebuildWorld): number =>
  new Set([live, ...kept, ...(next === undefined ? [] : [next])]).size

describe('An upgrade', () => {
  it('retains the previous index; a rollback uses it and indexes only later writes and deletions', async () => {
    const it = await upgraded(1)
    await it.expectWhole()
    expect([it.indices.live.name, it.indices.kept.map(({ name }) => name)]).toEqual(['v2', ['v1']])
    await it.write('p1', 'changed')
    await it.delete('p2')
    await it.write('new', 'born')
    it.made.length = 0
    await deploy(it, 1)
    await it.run('b')
    expect([it.indices.live.name, it.indices.kept.map(({ name }) => name)]).toEqual(['v1', ['v2']])
    expect(it.made.toSorted()).toEqual(['new', 'p1', 'p2'])
    await it.expectWhole()
  })

  it('retains the previous index; a rollback fills a new one if the previous one lacks a shard', async () => {
    const it = await upgraded(1)
    await deploy(it, 1)
    it.indices.isSound = async (_, name) => {
      it.pass(60_000)
      return name !== 'v1'
    }
    await it.run('back')
    expect(it.indices.live.name).toBe('v3')
    await it.expectWhole()
  })

  it('repeated after a rollback uses its own index again', async () => {
    const it = await upgraded(2)
    await deploy(it, 1)
    await it.run('b')
    await it.write('p1', 'changed')
    it.made.length = 0
    await deploy(it, 2)
    await it.run('c')
    expect([it.indices.live.name, it.made]).toEqual(['v2', ['p1']])
    await it.expectWhole()
  })

  it('abandoned before the switch indexes later writes again in place', async () => {
    const it = await deployed(3)
    await deploy(it, 2)
    await it.write('p1', 'changed')
    await it.delete('p2')
    await deploy(it, 1)
    it.made.length = 0
    await it.run('a')
    expect([it.indices.live.name, it.indices.kept, it.made.toSorted()]).toEqual(['v1', [], ['p1', 'p2']])
    await it.expectWhole()
  })

  it('in place stays outdated if another upgrade overtakes its end', async () => {
    const it = await deployed(3)
    await deploy(it, 2)
    await it.write('p1', 'changed')
    await deploy(it, 1)
    const swaps: unknown[] = []
    await it.run('a', async ({ action, type }, isDone) => {
      if (action !== 'swap' || type !== 'Patient') return
      if (!isDone && swaps.length === 0) await deploy(it, 2)
      if (isDone) swaps.push((await it.state.read()).value.types.Patient!.outdated?.extraction)
    })
    // The second one lets a new index serve.
    expect(swaps).toEqual(['1', undefined])
    await it.expectWhole()
  })

  it.each([1, 2])('without new code indexes missed versions again, also in a retained index (release %i)', async (last) => {
    const it = await deployed(14)
    it.hold()
    await it.write('p1', 'lost')
    const since = it.now
    await it.delete('p2')
    it.held = undefined
    await it.write('between', 'came')
    await deploy(it, 2)
    await it.run('a')
    it.made.length = 0
    await it.write('p3', 'came')
    await it.state.change((state) => requestOutdatedRebuilds(recordMissedVersions(state, since), '2'))
    if (last === 1) await deploy(it, 1)
    await it.run('b')
    expect([it.indices.live.name, it.made.toSorted()]).toEqual([last === 1 ? 'v1' : 'v2', ['between', 'p1', 'p2', 'p3']])
    await it.expectWhole()
  })

  it('starts again if a version for both indices was missed', async () => {
    const it = await deployed(15)
    await deploy(it, 2)
    let hasCome = false
    await it.run('a', async ({ action, type }, isDone) => {
      if (hasCome || isDone || action !== 'swap' || type !== 'Patient') return
      hasCome = true
      it.hold()
      await it.write('p1', 'lost')
      it.held = undefined
      await it.state.change((state) => recordMissedVersions(state, it.now))
    })
    await it.expectWhole()
  })

  it('records the oldest version of a batch, by type', async () => {
    const { state } = await deployed(1)
    const came = [30, 10, 20].map((lastUpdated) => versionOf(writeOf(patientKeyOf(`${lastUpdated}`, TENANT), { lastUpdated })))
    const { value } = await state.change((each) => recordFollowedVersions(each, came, '2'))
    expect(encode(value).behind).toEqual({ Patient: { extraction: '1', since: 10 } })
  })

  it('is repaired in the same way if it fails before the migration', async () => {
    const it = await deployed(4)
    it.release = 2
    await it.write('p1', 'changed')
    expect((await it.state.change((state) => requestOutdatedRebuilds(state, '2'))).value.rebuilds).toEqual([])
    it.release = 1
    await it.state.change((state) => requestOutdatedRebuilds(state, '1'))
    it.made.length = 0
    await it.run('a')
    expect([it.indices.live.name, it.made]).toEqual(['v1', ['p1']])
    await it.expectWhole()
    const { number } = await it.state.read()
    await it.state.change((state) => requestOutdatedRebuilds(state, '1'))
    expect((await it.state.read()).number).toBe(number)
  })

  it('also indexes late versions of the stream again, however old they are', async () => {
    const it = await deployed(5)
    it.hold()
    await it.write('p1', 'before the upgrade')
    await it.delete('p2')
    const late = it.held!
    it.held = undefined
    for (let i = 0; i < 10; i++) await it.write(`more${i}`, 'f')
    await deploy(it, 2)
    await it.run('a')
    for (const version of late) await it.deliver(version)
    await deploy(it, 1)
    await it.run('b')
    expect(it.indices.live.name).toBe('v1')
    await it.expectWhole()
  })

  it('after another retains only the index of that one, at most two in total', async () => {
    const it = await upgraded(6)
    await deploy(it, 3)
    const most: number[] = []
    await it.run('b', async ({ action }) => {
      most.push(copies(it))
      if (action === 'fill') expect(encode((await it.state.read()).value).kept).toEqual({})
    })
    expect([Math.max(...most), it.indices.live.name, it.indices.kept.map(({ name }) => name)]).toEqual([2, 'v3', ['v2']])
    await deploy(it, 1)
    await it.run('c')
    expect(it.indices.live.name).toBe('v4')
    await it.expectWhole()
  })

  it('rebuilds all documents if the retained index was removed', async () => {
    const it = await upgraded(7)
    it.indices.kept = []
    await deploy(it, 1)
    await it.run('b')
    expect(it.indices.live.name).toBe('v3')
    await it.expectWhole()
  })

  it('rebuilds all documents if the store was restored since', async () => {
    const it = await upgraded(7)
    it.epoch = 1
    await it.state.change((state) => ({ ...state, epoch: 1 }))
    await deploy(it, 1)
    await it.run('b')
    expect(it.indices.live.name).toBe('v3')
    await it.expectWhole()
  })

  it('retains no index if retention is off', async () => {
    const it = await deployed(8)
    it.keepFor = 0
    await deploy(it, 2)
    await it.run('a', async () => expect(it.indices.kept).toEqual([]))
    expect([it.indices.live.name, encode((await it.state.read()).value).kept]).toEqual(['v2', {}])
  })

  it('retains no index after a rollback if retention was turned off', async () => {
    const it = await upgraded(8)
    await deploy(it, 1)
    it.keepFor = 0
    await it.run('b', async ({ action }, isDone) => {
      const { kept } = encode((await it.state.read()).value)
      if (action === 'swap' && isDone && it.indices.live.name === 'v1') expect(kept).toEqual({})
    })
    expect([it.indices.live.name, it.indices.kept, encode((await it.state.read()).value).kept]).toEqual(['v1', [], {}])
    await it.expectWhole()
  })

  it('gives a type without resources another index, too', async () => {
    const it = await deployed(8, 0)
    await deploy(it, 2)
    await it.run('a')
    expect(it.indices.live.name).toBe('v2')
    await it.expectWhole()
  })

  it('forgets the retained and outdated state of a lost index', async () => {
    const it = await upgraded(8)
    await deploy(it, 3)
    const { value } = await it.state.change((state) => markLost(state, { Patient: 'first' }, 'second'))
    expect([encode(value).behind, encode(value).kept]).toEqual([{}, {}])
  })

  it('does not restore a retained index in place of a lost one', async () => {
    const it = await upgraded(8)
    const { value } = await it.state.change((state) => changeFormat(state, '1', it.now))
    const ways = [value, { ...value, types: { Patient: { ...value.types.Patient, lost: true as const } } }].map(
      (state) => rebuildPathOf(state, 'Patient', 'a', 0).kind,
    )
    expect(ways).toEqual(['back', 'anew'])
  })

  it('stays outdated if another upgrade overtakes it before the switch', async () => {
    const it = await deployed(8)
    await deploy(it, 2)
    const { value } = await it.state.change((state) => changeFormat(state, '3', it.now))
    const after = replaceIndex(value, 'Patient', { extraction: '2', index: undefined, at: it.now, epoch: 0 })
    expect(encode(after).behind!.Patient).toEqual({ extraction: '2', since: encode(value).behind!.Patient!.since })
    expect(encode(replaceIndex(value, 'Patient', { extraction: '3', index: undefined, at: it.now, epoch: 0 })).behind).toEqual({})
  })

  it('removes the retained index after its time, but not during a rebuild', async () => {
    const it = await upgraded(9)
    const { at } = encode((await it.state.read()).value).kept!.Patient!
    expect(hasExpiredIndex((await it.state.read()).value, at - 1)).toBe(false)
    expect(hasExpiredIndex((await it.state.read()).value, at)).toBe(true)
    await it.run('b')
    expect(it.indices.kept).toHaveLength(1)
    it.keepFor = 0
    const wanted = await it.state.change((state) => requestRebuild(state, TENANT, ['Observation']))
    expect(hasExpiredIndex(wanted.value, at)).toBe(false)
    await it.run('c')
    expect([it.indices.kept, encode((await it.state.read()).value).kept]).toEqual([[], {}])
  })

  it.each<readonly [string, (it: RebuildWorld) => Promise<unknown>]>([
    ['extended by a definition', (it) => it.define('nick', 'Patient.name.family')],
    ['rebuilt by $reindex', (it) => it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))],
    ['lost', (it) => it.state.change((state) => markLost(state, { Patient: 'first' }, 'first'))],
  ])('discards the retained index if the serving one was %s', async (_, change) => {
    const it = await upgraded(10)
    await change(it)
    await it.run('b')
    expect([it.indices.kept, encode((await it.state.read()).value).kept]).toEqual([[], {}])
    const { name } = it.indices.live
    await deploy(it, 1)
    await it.run('c')
    expect([it.indices.live.name === 'v1', it.indices.live.name === name]).toEqual([false, false])
  })

  it('together with a definition retains no index, which would lack the definition', async () => {
    const it = await deployed(11)
    await it.define('nick', 'Patient.name.family')
    await deploy(it, 2)
    await it.run('a')
    expect(it.indices.kept).toEqual([])
    await it.expectWhole('nick')
  })

  it('is not continued by steps of another release', async () => {
    const it = await deployed(12)
    await it.define('nick', 'Patient.name.family')
    it.release = 2
    await it.run('a')
    expect(it.steps).toEqual(['next'])
    await migrate(it)
    await it.run('b')
    await it.expectWhole('nick')
  })

  it('lets steps of another release do no catch-up after a restore', async () => {
    const it = await deployed(12)
    const back = { former: 'before', since: 0, at: it.now }
    const { value } = await it.state.change((state) => ({
      ...state,
      types: { Patient: { ...state.types.Patient, unreconciled: true as const } },
      setBack: back,
      epoch: 0,
    }))
    it.release = 2
    await it.run('a')
    expect([it.steps, (await it.state.read()).value]).toEqual([['next'], value])
  })

  it('during the steps of another leaves nothing half done', async () => {
    for (const action of ['open', 'fill', 'swap'] as const)
      for (const isAfter of [false, true]) {
        const it = await deployed(13)
        await deploy(it, 2)
        let hasCome = false
        await it.run('a', async (input, isDone) => {
          if (hasCome || input.action !== action || isDone !== isAfter) return
          hasCome = true
          await it.write('p1', 'between')
          await deploy(it, 1)
          await it.write('p2', 'after')
        })
        await it.run('b')
        await it.expectWhole()
      }
  })

  it('back and forth during writes, failed steps and a late stream ends complete', async () => {
    for (let seed = firstSeed() + 1; seed <= firstSeed() + SEEDS; seed++) {
      const it = await deployed(seed)
      const random = randomOf(seed * 7)
      for (let round = 0; round < 4; round++) {
        await atRandom(it, random)
        it.release = 1 + random.below(3)
        await atRandom(it, random)
        await migrate(it)
        let faults = 4
        const most: number[] = []
        const around = async () => {
          most.push(copies(it))
          await atRandom(it, random)
          if (random.below(6) === 0 && faults-- > 0) throw new Error('planted')
          if (random.below(40) === 0) await deploy(it, 1 + random.below(3))
        }
        if (random.below(4) > 0) await it.run(`r${round}`, around)
        expect(Math.max(0, ...most)).toBeLessThan(3)
      }
      await it.letGo()
      for (
        let i = 0;
        (await it.state.change((state) => requestOutdatedRebuilds(state, String(it.release)))).value.rebuilds.length > 0;
        i++
      ) {
        expect(i).toBeLessThan(9)
        await it.run(`z${i}`)
      }
      await it.expectWhole()
    }
  })
})

async function atRandom(it: RebuildWorld, random: Random): Promise<void> {
  const id = `p${random.below(50)}`
  const isKnown = it.heads.has(`${TENANT} Patient ${id}`)
  const kind = random.below(8)
  if (kind === 0) it.hold()
  else if (kind < 3) await it.letGo()
  else if (kind === 3 && isKnown) await it.delete(id)
  else if (kind < 6) await it.write(id, `f${random.below(1_000)}`)
}
