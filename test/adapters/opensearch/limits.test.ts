/** Requests at the limits of OpenSearch, on the engine of OPENSEARCH_ENDPOINT. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import { and, metresBetween, not, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import { MAX_CUSTOM_FIELDS } from '../../../lambdas/search/custom/custom-parameter-limits.ts'
import { SEARCH_TYPES } from '../../../lambdas/search/types/search-types.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'
import { type ProxiedRequest, startFaultyProxy } from '../../engines/opensearch-proxy.ts'
import { fault } from '../../fixtures/machine-fault.ts'

runOnOpenSearch('OpenSearch', (endpoint) => {
  let open: TestIndex
  beforeAll(() => {
    open = createTestIndex(endpoint)
  })
  afterAll(() => open.close())

  const plan = (type: string, rest: Partial<Plan> = {}): Plan => ({
    tenant: 'one',
    types: [type],
    where: and(),
    access: 'everything',
    order: [],
    limit: 1_000,
    total: 'none',
    ...rest,
  })
  const ids = async (type: string, where: Predicate) => (await open.index.find(plan(type, { where }))).hits.map(({ id }) => id).join(' ')

  it('pages beyond 10,000: by skipping, in large pages, and from a position', async () => {
    const numbered = (i: number) => document({ type: 'Basic', id: `${100_000 + i}`, order: { p: { low: -i, high: -i } } })
    await open.index.apply(Array.from({ length: 10_030 }, (_, i) => numbered(i)))
    const found = async (rest: Partial<Plan>) => {
      const { hits, more, total } = await open.index.find(plan('Basic', rest))
      return [hits.length, hits[0]?.id, hits.at(-1)?.id, more, total]
    }
    expect(await found({ skip: 10_020, limit: 5, total: 'accurate' })).toEqual([5, '110020', '110024', true, 10_030])
    expect(await found({ skip: 10_020, limit: 10 })).toEqual([10, '110020', '110029', false, undefined])
    expect(await found({ skip: 20_000, limit: 10, total: 'accurate' })).toEqual([0, undefined, undefined, false, 10_030])
    expect(await found({ limit: 10_029 })).toEqual([10_029, '100000', '110028', true, undefined])
    expect(await found({ limit: 20_000, order: [{ field: 'p', descending: false }] })).toEqual([
      10_030,
      '110029',
      '100000',
      false,
      undefined,
    ])
    const after = { values: [], type: 'Basic', id: '100009' }
    expect(await found({ after, skip: 10_000, limit: 5, total: 'accurate' })).toEqual([5, '110010', '110014', true, 10_030])
    expect(await found({ limit: 0, skip: 20_000, total: 'accurate' })).toEqual([0, undefined, undefined, false, 10_030])
  })

  it('finds by more keys than one query accepts', async () => {
    await open.index.apply([document({ type: 'Flag', id: '1', keys: { b: ['k140000'] } }), document({ type: 'Flag', id: '2' })])
    const key: Predicate = { kind: 'key', field: 'b', oneOf: Array.from({ length: 140_001 }, (_, i) => `k${i}`) }
    expect(await ids('Flag', key)).toBe('1')
    expect(await ids('Flag', not(key))).toBe('2')
  })

  it('finds long texts within longer ones, exactly', async () => {
    const text = 'ab*?\\\u{1f600}'.repeat(300)
    const withKey = (id: string, key: string) => document({ type: 'Goal', id, keys: { b: [key, 'other'] } })
    await open.index.apply([withKey('1', `x${text}x`), withKey('2', text), withKey('3', `${text.slice(0, 1_000)}-${text.slice(1_000)}`)])
    const contains = (text: string): Predicate => ({ kind: 'contains', field: 'b', text })
    expect(await ids('Goal', contains(text))).toBe('1 2')
    expect(await ids('Goal', contains(`x${text}`))).toBe('1')
    expect(await ids('Goal', not(contains(text)))).toBe('3')
    expect(await ids('Goal', contains('x'.repeat(1_000)))).toBe('')
  })

  it('measures exactly: a point on the edge of a circle is inside it', async () => {
    const random = randomOf(7)
    const degrees = (most: number) => (random.below(2_000_001) / 1_000_000 - 1) * most
    const points = Array.from({ length: 40 }, () => [degrees(90), degrees(180)] as const)
    await open.index.apply(points.map((point, i) => document({ type: 'Location', id: `${i}`, points: { p: [point] } })))
    for (let round = 0; round < 30; round++) {
      const [latitude, longitude] = random.below(3) === 0 ? points[round]! : [degrees(90), degrees(180)]
      const metres = metresBetween(points[random.below(40)]!, [latitude, longitude]) * (1 - random.below(2) * 1e-12)
      const inside = points.flatMap((point, i) => (metresBetween(point, [latitude, longitude]) <= metres ? [`${i}`] : []))
      expect(await ids('Location', { kind: 'near', field: 'p', latitude, longitude, metres })).toBe(inside.sort().join(' '))
    }
  })

  it('takes the fields of custom parameters up to their capacity, of R4, and 500 of removed ones, but no more than it has', async () => {
    const stubs: string[] = []
    const index = open.another({ onPoison: ({ id }, reason) => void stubs.push(`${id} ${reason}`) })
    /** As a token with every field. */
    const parameters = (count: number, prefix: string) => {
      const fields = Array.from({ length: count }, (_, i) => `${prefix}${i}`)
      const each = <Value>(value: Value, ...suffixes: readonly string[]) =>
        Object.fromEntries(fields.flatMap((field) => suffixes.map((suffix) => [field + suffix, value])))
      return {
        keys: each(['x'], '', ':code', ':text', ':of-type'),
        groups: each(['x'], ':code', ':system'),
        order: each({ low: 'x', high: 'x' }, ''),
      }
    }
    const full = MAX_CUSTOM_FIELDS / SEARCH_TYPES.token!.maxFields
    expect(Object.values(parameters(1, 'p')).flatMap(Object.keys).length + 1).toBe(SEARCH_TYPES.token!.maxFields)
    await index.apply([
      document({ type: 'Device', id: '1', ...parameters(full, 'custom') }),
      document({ type: 'Device', id: '2', ...parameters(300 / 8, 'r4') }),
      document({ type: 'Device', id: '3', ...parameters(500 / 8, 'removed') }),
    ])
    expect(stubs).toEqual([])
    expect(await ids('Device', { kind: 'key', field: `custom${full - 1}:of-type`, oneOf: ['x'] })).toBe('1')
    await index.apply([document({ type: 'Device', id: '4', ...parameters(300 / 8, 'more') })])
    expect(stubs).toEqual(['4 illegal_argument_exception'])
  })

  it('searches all types at once', async () => {
    await open.index.apply(['Account', 'Slot'].map((type) => document({ type, id: '1', keys: { all: ['1'] } })))
    const types = ['Account', 'Slot', ...Array.from({ length: 144 }, (_, i) => `Unused${i}`)]
    const { hits } = await open.index.find(plan('', { types, where: { kind: 'key', field: 'all', oneOf: ['1'] } }))
    expect(hits.map(({ type }) => type)).toEqual(['Account', 'Slot'])
    expect((await open.index.find(plan('', { types: [], total: 'accurate' }))).total).toBe(0)
  })

  it('counts 65,535 groups, and rejects more', async () => {
    const grouped = (id: number, many: number) =>
      document({ type: 'Media', id: `${id}`, groups: { 'g:code': Array.from({ length: many }, (_, i) => `${id}-${i}`) } })
    await open.index.apply([...Array.from({ length: 13 }, (_, i) => grouped(i, 5_000)), grouped(13, 535)])
    const groups = () =>
      open.index.groups({
        tenant: 'one',
        types: ['Media'],
        where: and(),
        access: 'everything',
        field: 'g:code',
        order: [],
        hits: 1,
        limit: 2,
        skip: 65_533,
      })
    expect((await groups()).groups.map(({ key }) => key)).toEqual(['9-998', '9-999'])
    await open.index.apply([document({ type: 'Media', id: '14', groups: { 'g:code': ['one more'] } })])
    await expect(groups()).rejects.toThrow(fault('too-many-groups'))
  })

  it('throws too-costly for too many conditions and for too long searches', async () => {
    const keys = (i: number) => Array.from({ length: 50 }, (_, j) => `${'y'.repeat(200)}${i}-${j}`)
    await open.index.apply(Array.from({ length: 2_000 }, (_, i) => document({ type: 'Claim', id: `${i}`, keys: { b: keys(i) } })))
    const each = (many: number, text: string): Predicate => ({
      kind: 'some',
      of: Array.from({ length: many }, (_, i) => ({ kind: 'contains', field: 'b', text: `${text}${i}` })),
    })
    await expect(open.index.find(plan('Claim', { where: each(5_000, 'z') }))).rejects.toThrow(fault('too-costly'))
    const sent: ProxiedRequest[] = []
    const proxy = await startFaultyProxy(endpoint, (request) => {
      sent.push(request)
      return undefined
    })
    const hasty = open.another({ budget: 1 }, proxy.endpoint)
    // A busy machine may use up the budget before anything is sent.
    while (sent.length === 0) await expect(hasty.find(plan('Claim', { where: each(500, 'y-y') }))).rejects.toThrow(fault('too-costly'))
    await proxy.close()
    expect(sent).toHaveLength(1)
    const { path, body } = sent[0]!
    const answer = await fetch(`${endpoint}${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    expect(await answer.json()).toMatchObject({ error: { caused_by: { type: 'task_cancelled_exception' } } })
    expect(await ids('Claim', { kind: 'contains', field: 'b', text: 'y7-4' })).toBe('7')
  })

  it('preserves infinities, both zeros and the last digit of numbers', async () => {
    const sorted = (id: string, low: number) =>
      document({ type: 'List', id, order: { p: { low, high: low } }, numbers: { n: [[low, low]] } })
    await open.index.apply([
      document({ type: 'List', id: '1', order: { p: { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY } } }),
      sorted('2', -0),
      sorted('3', 0),
      sorted('4', 0.30000000000000004),
      sorted('5', 0.3),
      sorted('6', -1e-320),
    ])
    const found = await open.index.find(plan('List', { order: [{ field: 'p', descending: false }] }))
    expect(found.hits.map(({ id, position }) => [id, position.values[0]])).toEqual([
      ['1', Number.NEGATIVE_INFINITY],
      ['6', -1e-320],
      ['2', 0],
      ['3', 0],
      ['5', 0.3],
      ['4', 0.30000000000000004],
    ])
    const number = (low: number, high: number): Predicate => ({ kind: 'number', field: 'n', relation: 'within', low, high })
    expect(await ids('List', number(0, 0.3))).toBe('2 3')
    expect(await ids('List', number(-0, 0.30000000000000004))).toBe('2 3 5')
    expect(await ids('List', number(-1, 0))).toBe('6')
  })

  it('stores resources if configured, and returns them with hits and groups', async () => {
    const keeping = open.another({ keepsBodies: true })
    const body = new TextEncoder().encode('{"resourceType":"Substance"}')
    await keeping.apply([document({ type: 'Substance', id: '1', groups: { 'g:code': ['x'] }, body })])
    const found = await keeping.find(plan('Substance'))
    expect(found.hits.map((hit) => hit.body)).toEqual([body])
    const grouping = {
      tenant: 'one',
      types: ['Substance'],
      where: and(),
      access: 'everything' as const,
      field: 'g:code',
      order: [],
      hits: 1,
      limit: 1,
    }
    expect((await keeping.groups(grouping)).groups[0]!.hits).toEqual(found.hits)
  })

  it('reports a version as caught up once searches see it, and not before', async () => {
    const lazy = open.another({ refresh: 'none', settings: { refresh_interval: -1 } })
    const [first, second] = [1, 2].map((version) => document({ type: 'Task', id: '1', version }))
    await lazy.apply([first!])
    expect(await lazy.caughtUp([tokenOf(second!)], 120)).toBe(false)
    const waiting = lazy.caughtUp([tokenOf(first!), tokenOf(second!)], 10_000)
    await lazy.apply([second!])
    expect(await waiting).toBe(true)
    expect((await lazy.find(plan('Task'))).hits.map(({ version }) => version)).toEqual([2])
    expect(await lazy.caughtUp([tokenOf(document({ type: 'Unused', id: '1' }))], 0)).toBe(false)
  })
})
