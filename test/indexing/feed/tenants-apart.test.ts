/** A tenant whose parameters take long, or that writes much, does not hold back the index of other tenants. */
import { describe, expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { FeedFollower } from '../../../lambdas/indexing/feed/follower.ts'
import { ParameterPrefetch } from '../../../lambdas/indexing/parameter-prefetch.ts'
import type { Evaluation, ExpressionRunner } from '../../../lambdas/ports/execution/expression-runner.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import { feedOf } from '../../fixtures/feed.ts'
import { patient } from '../../fixtures/resources.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const person = (tenant: string, id: string, family: string, expected = 0): ResourceVersion =>
  versionOf(writeOf(patientKeyOf(id, tenant), { expected, body: patient(id, { family }) }))

/** A person that is indexed in pieces. */
const heavyPerson = (tenant: string, id: string): ResourceVersion => {
  const names = Array.from({ length: 5_000 }, (_, i) => ({ family: i === 0 ? 'F' : `Family ${i}` }))
  return versionOf(writeOf(patientKeyOf(id, tenant), { body: patient(id, { name: names }) }))
}

/** `expression`: an interpreted one is evaluated ahead. */
const parameter = (tenant: string, code: string, expression: string, expected = 0): ResourceVersion => {
  const body = {
    resourceType: 'SearchParameter',
    id: code,
    url: code,
    status: 'active',
    code,
    base: ['Patient'],
    type: 'string',
    expression,
  }
  return versionOf(writeOf(resourceKeyOf(tenant, 'SearchParameter', code), { expected, body }))
}
const INTERPRETED = 'Patient.name.repeat(family)'
const COMPILED = 'Patient.name.family'

const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Evaluations that end when they are released. Each has the family name as its value. `refusals`: messages with which the next calls are rejected. */
function heldExpressions() {
  const held: (() => void)[] = []
  const refusals: string[] = []
  const evaluated: string[] = []
  const callers: (string | undefined)[] = []
  const familyOf = ({ resource }: Evaluation) => ({ type: 'string', value: JSON.parse(resource).name[0].family as string })
  const runner: ExpressionRunner = {
    async evaluate(evaluations, { whose }) {
      const refusal = refusals.shift()
      if (refusal !== undefined) throw new MachineFault('overloaded', refusal)
      callers.push(whose)
      evaluated.push(...evaluations.map(({ resource }) => JSON.parse(resource).id as string))
      await new Promise<void>((resolve) => void held.push(resolve))
      return evaluations.map((each) => ({ ms: 1, values: [familyOf(each)] }))
    },
  }
  const release = (count = held.length): void => {
    for (const resolve of held.splice(0, count)) resolve()
  }
  return { runner, held, evaluated, callers, release, refusals }
}

type Followed = { readonly index?: SqliteSearchIndex; readonly defining?: readonly ResourceVersion[] }

function followed(versions: readonly ResourceVersion[], { index = new SqliteSearchIndex(':memory:'), defining = [] }: Followed = {}) {
  const { runner, held, evaluated, callers, release, refusals } = heldExpressions()
  const failures: string[] = []
  const prefetch = new ParameterPrefetch(runner, (tenant, error) => void failures.push(`${tenant}: ${(error as Error).message}`))
  const follower = new FeedFollower({
    ...{ feed: feedOf(versions), index, defining, reading: {}, prefetch, commitEvery: 1_000 },
    onPoison: (version, error) => {
      throw new Error(`${version.id} was not indexed`, { cause: error })
    },
    onChange: () => undefined,
  })
  const running = new Set<Promise<unknown>>()
  /** Works until an evaluation is needed, or nothing is left. */
  const work = (limit = 4): void => {
    for (;;) {
      for (const each of follower.evaluate(limit, versions.length)) {
        const ended = each.finally(() => running.delete(ended))
        running.add(ended)
      }
      if (follower.canFollow(versions.length)) follower.follow(limit, versions.length)
      else if (follower.canRebuild()) follower.rebuild(limit)
      else return
    }
  }
  const finish = async (limit = 4): Promise<void> => {
    for (work(limit); running.size > 0; work(limit)) {
      await tick()
      release()
    }
  }
  return { follower, index, held, evaluated, callers, release, refusals, failures, work, finish }
}

const found = (index: SqliteSearchIndex, tenant: string, field = 'family:exact'): string =>
  ['F', 'G', 'H']
    .map((family) => {
      const where = { kind: 'key', field, oneOf: [family] } as const
      const { hits } = index.findNow({ tenant, types: ['Patient'], where, access: 'everything', order: [], limit: 1_000, total: 'none' })
      return `${family}: ${hits.map(({ id, version }) => `${id}/${version}`).join(' ')}`
    })
    .join(', ')

describe('A tenant with slow parameters', () => {
  const versions = [
    person('fast', 'a', 'F'),
    parameter('slow', 'own', INTERPRETED),
    ...Array.from({ length: 10 }, (_, i) => person('slow', `${i}`, 'F')),
    person('fast', 'a', 'G', 1),
  ]

  it('holds no other tenant back', async () => {
    const { follower, index, held, work, finish } = followed(versions)
    work()
    await tick()
    work()
    expect(held).toHaveLength(1)
    expect(found(index, 'fast')).toBe('F: , G: a/2, H: ')
    expect(found(index, 'slow')).toBe('F: , G: , H: ')
    expect(follower.positions).toEqual({ all: 13, apart: new Map([['slow', 2]]) })
    await finish()
    expect(found(index, 'slow')).toBe(`F: ${[...Array(10).keys()].map((i) => `${i}/1`).join(' ')}, G: , H: `)
    expect(follower.position).toBe(13)
  })

  it('takes no turn for the versions of other tenants', async () => {
    const all = [parameter('slow', 'own', INTERPRETED), person('fast', 'a', 'F')]
    const { follower, finish } = followed(all)
    await finish()
    all.push(person('fast', 'b', 'F'), person('fast', 'c', 'F'))
    follower.follow(4, 4)
    expect(follower.positions).toEqual({ all: 4, apart: new Map([['slow', 4]]) })
    expect(follower.canFollow(4)).toBe(false)
  })

  it('is evaluated once for a search that waits while others write much', async () => {
    const all = [parameter('slow', 'own', INTERPRETED), person('fast', 'a', 'F')]
    const { follower, index, evaluated, release, finish } = followed(all)
    await finish()
    all.push(...Array.from({ length: 40 }, (_, i) => person('fast', `${i}`, 'F')), person('slow', 'a', 'F'))
    follower.hasten('slow', 43)
    for (let turn = 0; turn < 5; turn++) {
      follower.evaluate(4, 43)
      await tick()
      follower.follow(4, 43)
    }
    expect(follower.positions).toEqual({ all: 22, apart: new Map([['slow', 2]]) })
    release()
    await tick()
    await finish()
    expect(evaluated).toEqual(['a'])
    expect(found(index, 'slow')).toBe('F: a/1, G: , H: ')
  })

  it('holds the rebuilds of no other tenant back', async () => {
    const both = [...Array(6).keys()].flatMap((i) => ['slow', 'fast'].map((tenant) => person(tenant, `${i}`, 'F')))
    const { follower, index, work, finish } = followed([...both, parameter('slow', 'own', INTERPRETED), parameter('fast', 'own', COMPILED)])
    work()
    expect(follower.rebuilds).toEqual([{ tenant: 'slow', type: 'Patient', done: 0, total: -1 }])
    const states = follower.definitions.definitions.map(({ tenant, state }) => `${tenant} ${state}`)
    expect(states.toSorted()).toEqual(['fast active', 'slow building'])
    await finish()
    expect(follower.rebuilds).toEqual([])
    expect(follower.definitions.definitions.every(({ state }) => state === 'active')).toBe(true)
    index.close()
  })

  it('has each version evaluated once, however many pieces it is indexed in', async () => {
    const heavy = ['0', '1', '2'].map((id) => heavyPerson('slow', id))
    const { follower, evaluated, finish } = followed([parameter('slow', 'own', INTERPRETED), person('fast', 'a', 'F'), ...heavy])
    await finish(1)
    expect(evaluated).toEqual(['0', '1', '2'])
    follower.requestRebuild('slow', ['Patient'])
    await finish(1)
    expect(evaluated).toEqual(['0', '1', '2', '0', '1', '2'])
  })

  it('is evaluated again if the runner was overloaded, in the feed and in a rebuild', async () => {
    const { follower, index, refusals, finish } = followed(versions)
    await finishWithRefusal()
    follower.requestRebuild('slow', ['Patient'])
    await finishWithRefusal()
    const { mapping } = follower.definitions.definitions[0]!
    expect(found(index, 'slow', `${mapping.field}:exact`)).toBe(`F: ${[...Array(10).keys()].map((i) => `${i}/1`).join(' ')}, G: , H: `)

    async function finishWithRefusal(): Promise<void> {
      refusals.push('too many expressions are waiting')
      await finish()
      expect(refusals).toEqual([])
    }
  })

  it('reports each message of a failed evaluation once, until one succeeds', async () => {
    const { follower, refusals, failures, finish } = followed(versions)
    refusals.push('does not start', 'does not start', 'is closed', 'does not start')
    await finish()
    expect([refusals, failures.splice(0)]).toEqual([[], ['slow: does not start', 'slow: is closed']])
    follower.requestRebuild('slow', ['Patient'])
    refusals.push('does not start', 'does not start')
    await finish()
    expect([refusals, failures]).toEqual([[], ['slow: does not start']])
  })

  it('stops an evaluation that a new parameter makes outdated', async () => {
    const all = [parameter('slow', 'own', INTERPRETED), parameter('slow', 'other', INTERPRETED), person('slow', 'a', 'F')]
    const { follower, callers, failures, release, work, finish } = followed(all)
    await finish()
    follower.requestRebuild('slow', ['Patient'])
    callers.length = 0
    work()
    await tick()
    all.push(parameter('slow', 'third', INTERPRETED))
    work()
    await tick()
    work()
    await tick()
    expect(callers).toHaveLength(2)
    release()
    await tick()
    expect(callers).toHaveLength(3)
    await finish()
    expect([follower.rebuilds, failures]).toEqual([[], []])
  })

  it('is one of a few evaluated at the same time, each with its own turns', async () => {
    const tenants = Array.from({ length: 70 }, (_, i) => `slow-${i}`)
    const all = tenants.flatMap((tenant) => [parameter(tenant, 'own', INTERPRETED), person(tenant, 'a', 'F')])
    const { follower, index, held, callers, work, finish } = followed(all)
    work()
    await tick()
    expect([held.length, new Set(callers).size]).toEqual([8, 8])
    await finish()
    for (const tenant of tenants) follower.requestRebuild(tenant, ['Patient'])
    callers.length = 0
    work()
    await tick()
    expect([held.length, new Set(callers).size]).toEqual([8, 8])
    await finish()
    expect([follower.rebuilds, new Set(callers).size]).toEqual([[], 70])
    index.close()
  })

  it('continues at its position after a restart, and so do the others', async () => {
    const index = new SqliteSearchIndex(':memory:')
    const first = followed(versions, { index })
    first.work()
    first.follower.commit()
    const second = followed(versions, { index })
    expect(second.follower.positions).toEqual(first.follower.positions)
    await second.finish()
    expect(found(index, 'slow')).toBe(`F: ${[...Array(10).keys()].map((i) => `${i}/1`).join(' ')}, G: , H: `)
  })

  it('hides no parameter that another tenant defined before a restart', async () => {
    const index = new SqliteSearchIndex(':memory:')
    const [slow, own] = [parameter('slow', 'own', INTERPRETED), parameter('fast', 'own', COMPILED)]
    const before = [slow, person('fast', 'a', 'F')]
    const first = followed(before, { index, defining: [slow] })
    first.work()
    first.follower.commit()
    expect(first.follower.positions).toEqual({ all: 2, apart: new Map([['slow', 0]]) })
    const second = followed([...before, own], { index, defining: [slow, own] })
    await second.finish()
    const { mapping } = second.follower.definitions.definitions.find(({ tenant }) => tenant === 'fast')!
    expect(found(index, 'fast', `${mapping.field}:exact`)).toBe('F: a/1, G: , H: ')
  })

  it('joins the shared line again after its last such parameter', async () => {
    const { follower, finish } = followed([...versions, parameter('slow', 'own', COMPILED, 1), person('slow', 'z', 'F')])
    await finish()
    expect(follower.positions).toEqual({ all: 15, apart: new Map() })
  })
})

describe('A search that waits', () => {
  const backlog = Array.from({ length: 1_000 }, (_, i) => person('loud', `${i}`, 'F'))
  const versions = [...backlog, person('mine', 'a', 'G')]

  it('waits for the versions of its own tenant only', () => {
    const { follower, index } = followed(versions)
    follower.follow(16, 1_001)
    follower.hasten('mine', 1_001)
    follower.follow(16, 1_001)
    expect(found(index, 'mine')).toBe('F: , G: a/1, H: ')
    expect(follower.positions).toEqual({ all: 16, apart: new Map([['mine', 1_001]]) })
    while (follower.follow(16, 1_001));
    expect(follower.positions).toEqual({ all: 1_001, apart: new Map() })
  })

  it('waits no longer because another search of its tenant waits for less', () => {
    const { follower, index } = followed([
      ...backlog.slice(500),
      person('mine', 'a', 'F'),
      ...backlog.slice(500),
      person('mine', 'a', 'G', 1),
    ])
    follower.hasten('mine', 1_002)
    follower.hasten('mine', 501)
    for (let turn = 0; turn < 4; turn++) follower.follow(1, 1_002)
    expect(found(index, 'mine')).toBe('F: , G: a/2, H: ')
  })

  it.each([
    ['little is to be indexed before it', versions.slice(-100), 100],
    ['the store has no other tenant', backlog, 1_000],
  ])('needs no line of its own if %s', (_, all, end) => {
    const { follower } = followed(all)
    follower.hasten(all[0] === backlog[0] ? 'loud' : 'mine', end)
    follower.follow(16, end)
    expect(follower.positions).toEqual({ all: 16, apart: new Map() })
  })
})

/** Versions of three tenants, with parameters that are added and changed. */
function historyOf(random: Random): readonly ResourceVersion[] {
  const versions = new Map<string, number>()
  return Array.from({ length: 60 + random.below(400) }, () => {
    const tenant = random.pick(['a', 'b', 'c'])
    const isParameter = random.below(25) === 0
    const id = isParameter ? `own-${tenant}` : `${random.below(30)}`
    const expected = versions.get(`${tenant} ${id}`) ?? 0
    versions.set(`${tenant} ${id}`, expected + 1)
    return isParameter
      ? parameter(tenant, id, random.pick([INTERPRETED, COMPILED]), expected)
      : person(tenant, id, random.pick(['F', 'G', 'H']), expected)
  })
}

/** Follows in any order, with searches that wait, evaluations that end late, and restarts. */
async function followedAnyhow(random: Random, versions: readonly ResourceVersion[]): Promise<SqliteSearchIndex> {
  const index = new SqliteSearchIndex(':memory:')
  for (let round = 0; round < 4; round++) {
    const { follower, work, finish } = followed(versions, { index })
    for (let step = 0; step < 12; step++) {
      const end = 1 + random.below(versions.length)
      if (random.below(2) === 0) follower.hasten(random.pick(['a', 'b', 'c']), end)
      if (follower.canFollow(end)) follower.follow(1 + random.below(40), end)
      if (random.below(6) === 0) follower.commit()
      if (random.below(8) === 0) work(1 + random.below(20))
    }
    if (random.below(2) === 0 || round === 3) await finish()
    while (!follower.commitStep());
  }
  return index
}

it.each([...Array(30).keys()])('tenants have the same documents in any order of work: seed %i', async (seed) => {
  const random = randomOf(seed)
  const versions = historyOf(random)
  const plain = followed(versions)
  await plain.finish()
  const index = await followedAnyhow(random, versions)
  for (const tenant of ['a', 'b', 'c']) {
    expect(found(index, tenant)).toBe(found(plain.index, tenant))
    const fields = plain.follower.definitions.definitions.filter((each) => each.tenant === tenant).map(({ mapping }) => mapping.field)
    for (const field of fields) expect(found(index, tenant, `${field}:exact`)).toBe(found(plain.index, tenant, `${field}:exact`))
  }
})
