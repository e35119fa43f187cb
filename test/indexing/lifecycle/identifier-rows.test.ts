/** Identifier rows through upgrades, rollbacks and restores: whenever a function relies on them, every current value has its row. */
import { describe, expect, it } from '@jest/globals'
import {
  endDeployment,
  haveIdentifierRows,
  mayLackIdentifierRows,
  recordCompleteRows,
  recordDeployed,
  recordFormatChange,
  recordLosses,
  requestReindex,
} from '../../../lambdas/indexing/lifecycle/identifier-rows.ts'
import { changeFormat, requestOutdatedRebuilds } from '../../../lambdas/indexing/lifecycle/index-retention.ts'
import { requestNewIndices, takeRebuilds } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { applyRestore, recordReconciled } from '../../../lambdas/indexing/lifecycle/restore.ts'
import { addIndices, markLost, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { decode, encode, NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { planType } from '../../../lambdas/indexing/rebuild/type-rebuild.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { patientKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'
import { createRebuildWorld, type RebuildWorld, TENANT } from '../rebuilt-world.ts'

const SEEDS = caseCountOf(20, 400)
/** Maximum time in ms for which an invocation continues. */
const INVOKED = 15 * 60_000
/** Releases from this one on add rows. */
const FIRST_WITH_ROWS = 2

/** Functions that answer requests on a world. After the migration they change to another release, one after the other. */
class Deployment {
  readonly world: RebuildWorld
  readonly #rows = new Set<string>()
  /** Releases of the functions that answer requests. */
  requests: readonly number[] = [1, 1]
  /** Invocations that began before the latest deployment ended: their releases, and until when they continue. */
  #begun: { readonly releases: readonly number[]; readonly until: number } = { releases: [], until: 0 }
  /** Checks at which the functions relied on the rows. */
  relied = 0

  constructor(world: RebuildWorld) {
    this.world = world
    world.onListed = (version) => void (world.release >= FIRST_WITH_ROWS && this.#rows.add(rowOf(version)))
    world.onFollowed = (state, version, release) =>
      void (release >= FIRST_WITH_ROWS && mayLackIdentifierRows(state, version.type) && this.#rows.add(rowOf(version)))
  }

  /** Writes by one of the functions. */
  async write(id: string, family: string): Promise<void> {
    const { releases, until } = this.#begun
    const writers = [...this.requests, ...(this.world.now < until ? releases : [])]
    const release = writers[this.world.below(writers.length)]!
    const head = this.world.heads.get(`${TENANT} Patient ${id}`)
    const next = versionOf(writeOf(patientKeyOf(id, TENANT), { body: { resourceType: 'Patient', id, name: [{ family }] } }))
    if (release >= FIRST_WITH_ROWS && (head === undefined || rowOf(head) !== rowOf(next))) this.#rows.add(rowOf(next))
    await this.world.write(id, family)
  }

  migrate(): Promise<unknown> {
    const { release, now } = this.world
    return this.world.state.change((before) => {
      const changed = changeFormat(before, String(release), now + 1)
      const after = { ...changed, rebuilds: changed.rebuilds.filter(({ type }) => type === 'Patient') }
      return release >= FIRST_WITH_ROWS ? recordFormatChange(before, after, now) : after
    })
  }

  /** Updates all functions of requests, and records that. */
  async update(): Promise<void> {
    const { release, now } = this.world
    this.#begun = { releases: [...this.requests, ...(now < this.#begun.until ? this.#begun.releases : [])], until: now + INVOKED }
    this.requests = [release, release]
    if (release >= FIRST_WITH_ROWS) await this.world.state.change((state) => recordDeployed(state, now))
  }

  /** The sweep of the running release, whose heartbeat has passed all versions that are not held back. */
  async sweep(): Promise<void> {
    const { held = [], now, release } = this.world
    const followed = Math.min(now, ...held.map(({ lastUpdated }) => lastUpdated - 1))
    if (release >= FIRST_WITH_ROWS) await this.world.state.change((state) => endDeployment(state, followed))
  }

  /** Records that the index is lost, as the running release does. */
  lose(): Promise<unknown> {
    return this.world.state.change((before) => {
      const after = markLost(before, { Patient: 'first' }, 'first')
      return this.world.release >= FIRST_WITH_ROWS ? recordLosses(before, after) : after
    })
  }

  async relies(): Promise<boolean> {
    const { value } = await this.world.state.read()
    return this.requests.some((each) => each >= FIRST_WITH_ROWS && haveIdentifierRows(value, 'Patient', String(each)))
  }

  /** Returns the current values without a row that a function would miss. */
  async missing(): Promise<readonly string[]> {
    if (!(await this.relies())) return []
    this.relied++
    const living = [...this.world.heads.values()].filter(({ deleted }) => !deleted)
    return living.map(rowOf).filter((row) => !this.#rows.has(row))
  }
}

const rowOf = ({ id, deleted, body }: ResourceVersion): string =>
  `${id} ${deleted ? '' : JSON.parse(new TextDecoder().decode(body)).name[0].family}`

async function deployed(seed: number): Promise<Deployment> {
  const world = await createRebuildWorld(seed, 20)
  await world.state.change((state) => ({ ...addIndices(withIdentity(state, 'first'), ['Patient'], 'first'), extraction: '1' }))
  return new Deployment(world)
}

describe('Identifier rows', () => {
  /** Returns a world whose functions were all replaced some milliseconds ago, and whose rebuild has not begun. */
  const upgraded = async (seed: number, passed = INVOKED): Promise<Deployment> => {
    const it = await deployed(seed)
    it.world.release = 2
    await it.migrate()
    await it.update()
    it.world.pass(passed)
    await it.sweep()
    return it
  }

  it('are relied on once all functions are replaced, and the rebuild has added those of earlier writes', async () => {
    const it = await upgraded(1)
    const { world } = it
    expect(await it.relies()).toBe(false)
    await world.run('a')
    expect(await it.relies()).toBe(false)
    await it.sweep()
    expect([await it.relies(), await it.missing()]).toEqual([true, []])
  })

  it.each([
    ['after', INVOKED],
    ['before', INVOKED - 1],
  ])('are complete although an update hides a version from a rebuild that begins %s earlier functions ended', async (_, passed) => {
    const it = await upgraded(1, passed)
    const { world } = it
    await world.run('a', async ({ action }, isDone) => {
      if (action === 'open' && isDone) {
        await it.write('p3', 'f3')
        world.hold()
        await it.write('p4', 'f4')
      }
    })
    await it.sweep()
    expect(await it.relies()).toBe(false)
    await world.letGo()
    await it.sweep()
    expect([await it.relies(), await it.missing()]).toEqual([true, []])
  })

  it('are not relied on after a loss that the previous release recorded during a rollback', async () => {
    const it = await upgraded(1)
    it.world.release = 1
    await it.lose()
    expect(await it.relies()).toBe(false)
  })

  it('are complete again after a rollback and another upgrade', async () => {
    const it = await deployed(1)
    const { world } = it
    const relied: boolean[] = []
    for (const release of [2, 1, 2]) {
      world.release = release
      await it.migrate()
      await it.update()
      await it.write('p3', `written by ${release}`)
      world.pass(INVOKED)
      await world.run(`r${relied.length}`)
      await it.sweep()
      relied.push(await it.relies())
    }
    expect([relied, await it.missing()]).toEqual([[true, false, true], []])
  })

  it('are not relied on while functions of a release without rows may write, however long that is', async () => {
    const it = await deployed(2)
    const { world } = it
    world.release = 2
    await it.migrate()
    await world.run('a')
    it.requests = [1, 2]
    // The deployment does not end, for example because it cannot be rolled back.
    world.pass(100 * INVOKED)
    await it.sweep()
    for (let n = 0; n < 5; n++) await it.write(`late-${n}`, 'of either release')
    expect(await it.relies()).toBe(false)
    await it.update()
    world.hold()
    for (let n = 0; n < 5; n++) await it.write(`later-${n}`, 'of an invocation that began before')
    world.pass(INVOKED)
    await it.sweep()
    expect(await it.relies()).toBe(false)
    await world.letGo()
    await it.sweep()
    expect([await it.relies(), await it.missing()]).toEqual([true, []])
  })

  it('are relied on at once after the rebuild if the previous release adds rows too', async () => {
    const it = await deployed(2)
    const { world } = it
    for (const release of [2, 3]) {
      world.release = release
      await it.migrate()
      await it.update()
      await world.run(`r${release}`)
      expect([release, await it.relies()]).toEqual([release, release === 3])
      if (release === 2) world.pass(INVOKED)
      await it.sweep()
      expect([await it.relies(), await it.missing()]).toEqual([true, []])
    }
    // Functions of the first release may still write after two deployments that did not end.
    const other = await deployed(3)
    for (const release of [2, 3]) {
      other.world.release = release
      await other.migrate()
      await other.world.run(`r${release}`)
    }
    other.requests = [1, 3]
    expect(await other.relies()).toBe(false)
  })

  it('are complete whenever a function relies on them, through upgrades, rollbacks, writes and failed steps', async () => {
    let relied = 0
    for (let seed = firstSeed() + 1; seed <= firstSeed() + SEEDS; seed++) {
      const it = await deployed(seed)
      const { world } = it
      const random = randomOf(seed * 11)
      const act = async (canLose = true) => {
        const id = `p${random.below(25)}`
        const kind = random.below(9)
        if (kind === 0) world.hold()
        else if (kind < 3) await world.letGo()
        else if (kind === 3 && world.heads.has(`${TENANT} Patient ${id}`)) await world.delete(id)
        else if (kind < 7) await it.write(id, `f${random.below(5)}`)
        else if (kind === 7) await it.sweep()
        else if (canLose && random.below(4) === 0) await it.lose()
        expect([seed, await it.missing()]).toEqual([seed, []])
      }
      for (let round = 0; round < 5; round++) {
        const release = 1 + random.below(3)
        for (let n = 0; n < 3; n++) await act()
        // The indexer is updated, then the state is migrated, then the functions of requests are updated.
        const before = world.release
        world.release = release
        // A deployment may fail before its migration. A loss that an earlier release records meanwhile is not covered.
        const isFailed = random.below(4) === 0
        for (let n = 0; n < 3; n++) await act(!isFailed)
        if (isFailed) {
          world.release = before
          continue
        }
        await it.migrate()
        let faults = 3
        const around = async () => {
          await act()
          if (random.below(4) === 0) it.requests = it.requests.with(random.below(2), release)
          if (random.below(8) === 0 && faults-- > 0) throw new Error('planted')
        }
        if (random.below(4) > 0) await world.run(`r${round}`, around)
        for (let n = 0; n < 3; n++) await act()
        // A deployment may fail before its end.
        if (random.below(4) > 0) await it.update()
        if (random.below(3) > 0) world.pass(INVOKED)
        for (let n = 0; n < 5; n++) await act()
        if (random.below(2) === 0) {
          await world.state.change((state) => requestOutdatedRebuilds(state, String(release)))
          await world.run(`s${round}`, () => act())
        }
        for (let n = 0; n < 3; n++) await act()
      }
      relied += it.relied
    }
    expect(relied).toBeGreaterThan(SEEDS * 10)
  })

  it('are relied on after a restore once a rebuild has created all documents again', async () => {
    const it = await deployed(3)
    const { world } = it
    const relies = async () => haveIdentifierRows((await world.state.read()).value, 'Patient', '1')
    const restore = { epoch: 1, store: 'after', instant: 1 }
    await world.state.change((state) => {
      const before = { ...state, store: 'before', identity: 'older', types: { Patient: { identity: 'older' } } }
      return applyRestore(before, restore, 'first', world.now)
    })
    world.epoch = 1
    expect(await relies()).toBe(false)
    await world.run('a')
    await world.state.change((state) => endDeployment(state, world.now))
    expect([await relies(), world.listed.size]).toEqual([true, 20])
  })

  it('are added once by rebuilds for new indices, and again after an upgrade', async () => {
    const it = await deployed(3)
    const { world } = it
    world.release = 2
    const added: number[] = []
    const rebuild = async (name: string) => {
      world.listed.clear()
      world.made.length = 0
      await world.run(name)
      expect(world.made).toHaveLength(20)
      added.push(world.listed.size)
      await it.sweep()
    }
    for (const release of [2, 3]) {
      world.release = release
      await it.migrate()
      await it.update()
      world.pass(INVOKED)
      await it.sweep()
      await rebuild(`upgrade-${release}`)
      for (const name of ['a', 'b']) {
        await world.state.change((state) => requestNewIndices(state, ['Patient']))
        await rebuild(`${name}-${release}`)
      }
    }
    expect([added, await it.missing()]).toEqual([[20, 0, 0, 20, 0, 0], []])
  })

  it('are relied on after a restore with the former table once $reindex of one tenant has added those of all tenants', async () => {
    const world = await createRebuildWorld(4, 3)
    await world.write('other', 'of another tenant', 'other')
    const restore = { epoch: 1, store: 'after', instant: 1, former: 'before' }
    const relies = async () => {
      const { value } = await world.state.read()
      return ['Patient', 'Basic'].map((type) => haveIdentifierRows(value, type, '1'))
    }
    const reindex = async (execution: string) => {
      world.listed.clear()
      await world.state.change((state) => requestReindex(state, TENANT, ['Patient', 'Basic']))
      await world.run(execution)
      await world.state.change((state) => endDeployment(state, world.now))
      return [...(await relies()), world.listed.size]
    }
    await world.state.change((state) => {
      const before = { ...addIndices(withIdentity(state, 'first'), ['Patient'], 'first'), store: 'before', extraction: '1' }
      // Nothing differs from the former table, so the reconciliation is empty.
      const { setBack: _, ...restored } = applyRestore(before, restore, 'first', world.now)
      return recordReconciled(restored, 'Patient')
    })
    expect(await relies()).toEqual([false, false])
    // A function that reads the former table must not record types that are empty there as complete.
    await world.state.change((state) =>
      takeRebuilds(requestReindex(state, TENANT, ['Basic']), { execution: 'a', width: 2, steps: 10 }, world.now),
    )
    await expect(planType(world.parts(), { type: 'Basic', attempt: `a~${world.now}~0` }, world.now)).rejects.toThrow(
      'the index is of epoch 1',
    )
    world.epoch = 1
    expect(await reindex('a')).toEqual([true, true, 4])
    // Once the rows are complete, it creates the documents of the tenant in the serving index, and adds no rows.
    world.made.length = 0
    expect([...(await reindex('b')), world.made.length]).toEqual([true, true, 0, 3])
  })

  const serving = { ...addIndices(withIdentity(NO_STATE, 'a'), ['Patient'], 'a'), extraction: '2' }
  const relies = (state: typeof serving, type = 'Patient') => haveIdentifierRows(decode(encode(state)), type, '2')
  const completed = (state: IndexState) => endDeployment(recordCompleteRows(state, 'Patient', 9 * INVOKED), 9 * INVOKED) as typeof serving

  it('are relied on from the first write in a new stage, and not by a function of another format', () => {
    expect([relies(serving), relies(serving, 'Basic'), relies({ ...serving, extraction: '3' })]).toEqual([true, true, false])
    expect(recordFormatChange(NO_STATE, serving, 5).formatAt).toBeUndefined()
  })

  it('are not relied on because of a deployment before one of a release that does not record its end', () => {
    const stale = { ...serving, formatAt: 6, deployedAt: 5 }
    expect(relies(endDeployment(stale, 2 * INVOKED) as typeof serving)).toBe(false)
    expect(relies(endDeployment({ ...stale, deployedAt: 6 }, 2 * INVOKED) as typeof serving)).toBe(true)
    expect(relies(completed({ ...stale, types: { Patient: { identity: 'a', listed: -1 } } }))).toBe(false)
  })

  it('are relied on while the index is lost, unless it was outdated or the format changes meanwhile', () => {
    const lose = (state: IndexState) => recordLosses(state, markLost(state, { Patient: 'a' }, 'b')) as typeof serving
    expect(relies(lose(serving))).toBe(true)
    const outdated = { ...serving, types: { Patient: { ...serving.types.Patient, outdated: { extraction: '1', since: 1 } } } }
    expect([relies(outdated), relies(lose(outdated))]).toEqual([false, false])
    const lost = lose({ ...serving, extraction: '1' })
    const changed = recordFormatChange(lost, changeFormat(lost, '2', 5), 5)
    const after = endDeployment(recordDeployed(changed, 5), 5 + INVOKED) as typeof serving
    expect([relies(after), relies(completed(after))]).toEqual([false, true])
  })

  it('are not relied on after a restore of the table, until a whole rebuild of the type', () => {
    const restored = applyRestore({ ...serving, store: 'before' }, { epoch: 1, store: 'after', instant: 1, former: 'before' }, 'b', 2)
    const state = { ...restored, extraction: '2' }
    expect([relies(state), relies(completed(state))]).toEqual([false, true])
  })
})
