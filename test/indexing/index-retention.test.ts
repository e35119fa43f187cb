/**
 * Upgrades, and going back: what the documents of each type are made with in the end is what runs, nothing that was written meanwhile is missing, and
 * an index that is kept needs only what came since.
 */
import { describe, expect, it } from '@jest/globals'
import {
  changeFormat,
  hasExpiredIndex,
  rebuildPathOf,
  recordFollowedVersions,
  recordMissedVersions,
  replaceIndex,
  requestOutdatedRebuilds,
} from '../../lambdas/indexing/index-retention.ts'
import { requestRebuild } from '../../lambdas/indexing/index-state.ts'
import { addIndices, type IdentifiedState, markLost, withIdentity } from '../../lambdas/indexing/serving-indices.ts'
import { type Random, randomOf } from '../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { patientKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'
import { createRebuildWorld, type RebuildWorld, TENANT } from './rebuilt-world.ts'

const SEEDS = caseCountOf(20, 200)

/** Patients, indexed by release 1. */
async function deployed(seed: number, patients = 40): Promise<RebuildWorld> {
  const made = await createRebuildWorld(seed, patients)
  await made.state.change((state) => ({ ...addIndices(withIdentity(state, 'first'), ['Patient'], 'first'), extraction: '1' }))
  return made
}

/** The functions first, then who migrates. */
async function deploy(it: RebuildWorld, release: number): Promise<void> {
  it.release = release
  await migrate(it)
}

/** Of all types there are, two. */
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
  it('keeps the index of before; going back takes it and makes only what came since, deletions too', async () => {
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

  it('that is made again after going back takes its index, too', async () => {
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

  it('that is given up before its index answers has what came meanwhile made again where it is', async () => {
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

  it.each([1, 2])(
    'of no other code, where some of what was written never came through the stream: it is made again where it is, and what is kept has it when it is taken back (release %i)',
    async (last) => {
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
    },
  )

  it('is begun anew where something that was to come to both indices never came', async () => {
    const it = await deployed(15)
    await deploy(it, 2)
    let hasCome = false
    await it.run('a', async (input, isDone) => {
      if (hasCome || isDone || input.action !== 'swap' || input.type !== 'Patient') return
      hasCome = true
      it.hold()
      await it.write('p1', 'lost')
      it.held = undefined
      await it.state.change((state) => recordMissedVersions(state, it.now))
    })
    await it.expectWhole()
  })

  it('is told of the oldest of what came together, by type', async () => {
    const { state } = await deployed(1)
    const came = [30, 10, 20].map((lastUpdated) => versionOf(writeOf(patientKeyOf(`${lastUpdated}`, TENANT), { lastUpdated })))
    const { value } = await state.change((each) => recordFollowedVersions(each, came, '2'))
    expect(value.behind).toEqual({ Patient: { extraction: '1', since: 10 } })
  })

  it('that fails before anybody migrates is mended likewise', async () => {
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
    expect((await it.state.read()).value).toBe((await it.state.change((state) => requestOutdatedRebuilds(state, '1'))).value)
  })

  it('has what the stream brings late made again, too, however long ago it was written', async () => {
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

  it('after another keeps the index of that one alone, and there are never more than two', async () => {
    const it = await upgraded(6)
    await deploy(it, 3)
    const most: number[] = []
    await it.run('b', async ({ action }) => {
      most.push(copies(it))
      if (action === 'fill') expect((await it.state.read()).value.kept).toEqual({})
    })
    expect([Math.max(...most), it.indices.live.name, it.indices.kept.map(({ name }) => name)]).toEqual([2, 'v3', ['v2']])
    await deploy(it, 1)
    await it.run('c')
    expect(it.indices.live.name).toBe('v4')
    await it.expectWhole()
  })

  it('makes all of it anew where somebody removed what was kept', async () => {
    const it = await upgraded(7)
    it.indices.kept = []
    await deploy(it, 1)
    await it.run('b')
    expect(it.indices.live.name).toBe('v3')
    await it.expectWhole()
  })

  it('makes all of it anew where the store was set back since', async () => {
    const it = await upgraded(7)
    it.epoch = 1
    await it.state.change((state) => ({ ...state, live: { ...state.live!, epoch: 1 } }))
    await deploy(it, 1)
    await it.run('b')
    expect(it.indices.live.name).toBe('v3')
    await it.expectWhole()
  })

  it('keeps nothing where nothing is to be kept', async () => {
    const it = await deployed(8)
    it.keepFor = 0
    await deploy(it, 2)
    await it.run('a', async () => expect(it.indices.kept).toEqual([]))
    expect([it.indices.live.name, (await it.state.read()).value.kept ?? {}]).toEqual(['v2', {}])
  })

  it('keeps nothing of what is taken back when nothing is to be kept any more', async () => {
    const it = await upgraded(8)
    await deploy(it, 1)
    it.keepFor = 0
    await it.run('b', async ({ action }, isDone) => {
      const { kept = {} } = (await it.state.read()).value
      if (action === 'swap' && isDone && it.indices.live.name === 'v1') expect(kept).toEqual({})
    })
    expect([it.indices.live.name, it.indices.kept, (await it.state.read()).value.kept]).toEqual(['v1', [], {}])
    await it.expectWhole()
  })

  it('gives a type that has an index and no resources another one, which may take what comes', async () => {
    const it = await deployed(8, 0)
    await deploy(it, 2)
    await it.run('a')
    expect(it.indices.live.name).toBe('v2')
    await it.expectWhole()
  })

  it('says nothing any more of an index that was lost', async () => {
    const it = await upgraded(8)
    await deploy(it, 3)
    const { value } = await it.state.change((state) => markLost(state as IdentifiedState, { Patient: 'first' }, 'second'))
    expect([value.behind, value.kept]).toEqual([{}, {}])
  })

  it('takes nothing back in the place of an index that is lost', async () => {
    const it = await upgraded(8)
    const { value } = await it.state.change((state) => changeFormat(state, '1', it.now))
    const ways = [value, { ...value, live: { ...value.live!, lacking: ['Patient'] } }].map(
      (state) => rebuildPathOf(state, 'Patient', 'a', 0).kind,
    )
    expect(ways).toEqual(['back', 'anew'])
  })

  it('that another overtook before its index answers is made again', async () => {
    const it = await deployed(8)
    await deploy(it, 2)
    const { value } = await it.state.change((state) => changeFormat(state, '3', it.now))
    const after = replaceIndex(value, 'Patient', { extraction: '2', index: undefined, at: it.now, epoch: 0 })
    expect(after.behind!.Patient).toEqual({ extraction: '2', since: value.behind!.Patient!.since })
    expect(replaceIndex(value, 'Patient', { extraction: '3', index: undefined, at: it.now, epoch: 0 }).behind).toEqual({})
  })

  it('keeps it for its time, and not while something is made again', async () => {
    const it = await upgraded(9)
    const { at } = (await it.state.read()).value.kept!.Patient!
    expect(hasExpiredIndex((await it.state.read()).value, at - 1)).toBe(false)
    expect(hasExpiredIndex((await it.state.read()).value, at)).toBe(true)
    await it.run('b')
    expect(it.indices.kept).toHaveLength(1)
    it.keepFor = 0
    const wanted = await it.state.change((state) => requestRebuild(state, TENANT, ['Observation']))
    expect(hasExpiredIndex(wanted.value, at)).toBe(false)
    await it.run('c')
    expect([it.indices.kept, (await it.state.read()).value.kept]).toEqual([[], {}])
  })

  it.each<readonly [string, (it: RebuildWorld) => Promise<unknown>]>([
    ['defined meanwhile', (it) => it.define('nick', 'Patient.name.family')],
    ['asked for by $reindex meanwhile', (it) => it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))],
    ['lost meanwhile', (it) => it.state.change((state) => markLost(state as IdentifiedState, { Patient: 'first' }, 'first'))],
  ])('forgets what it kept where what is there now was %s: that lacks it', async (_, change) => {
    const it = await upgraded(10)
    await change(it)
    await it.run('b')
    expect([it.indices.kept, (await it.state.read()).value.kept]).toEqual([[], {}])
    const { name } = it.indices.live
    await deploy(it, 1)
    await it.run('c')
    expect([it.indices.live.name === 'v1', it.indices.live.name === name]).toEqual([false, false])
  })

  it('together with a definition keeps nothing: what answered before lacks what is defined', async () => {
    const it = await deployed(11)
    await it.define('nick', 'Patient.name.family')
    await deploy(it, 2)
    await it.run('a')
    expect(it.indices.kept).toEqual([])
    await it.expectWhole('nick')
  })

  it('of one function is not taken up by the steps of another release', async () => {
    const it = await deployed(12)
    await it.define('nick', 'Patient.name.family')
    it.release = 2
    await it.run('a')
    expect(it.steps).toEqual(['take'])
    await migrate(it)
    await it.run('b')
    await it.expectWhole('nick')
  })

  it('of one function lets the steps of another release catch up with nothing, after a restore', async () => {
    const it = await deployed(12)
    const back = { former: 'before', since: 0, at: it.now }
    const { value } = await it.state.change((state) => ({ ...state, live: { ...state.live!, ahead: ['Patient'] }, setBack: back }))
    it.release = 2
    await it.run('a')
    expect([it.steps, (await it.state.read()).value]).toEqual([['take'], value])
  })

  it('in the middle of the steps of another leaves nothing half done', async () => {
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

  it('and another, back and forth while writes go on, steps fail and the stream is late, ends whole', async () => {
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
