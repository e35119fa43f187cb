/** What every SearchIndex must do. An adapter's test hands over how to make an empty one. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { and, comparePositions, type GroupPlan, not, type Plan, type Predicate, type RangeTest } from '../../lambdas/ports/search/plan.ts'
import type { GroupPage, HitGroup, HitPage, IndexDocument, SearchIndex } from '../../lambdas/ports/search/search-index.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { matchesPredicate, sortPositionOf } from '../../lambdas/search/evaluate.ts'
import { resolveChains, unrestrictedSearchAccess } from '../../lambdas/search/query/condition.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { documentsOf, groupPlanOf, planOf, type Random, randomOf, versionsOf } from './generated-search.ts'
import { document } from './index-document.ts'
import { allPages, groupMeaning, matchesOf, meaning, shownOf } from './search-meaning.ts'

export type OpenedIndex = { readonly index: SearchIndex; readonly close: () => Promise<void> }

/** `rounds`: generated plans of a whole run. */
export function searchIndexContract(name: string, create: () => Promise<OpenedIndex>, rounds = 20_000): void {
  describe(`${name}: SearchIndex`, () => {
    let open: OpenedIndex
    beforeEach(async () => {
      open = await create()
    })
    afterEach(() => open.close())

    const planned = (rest: Partial<Plan> = {}): Plan => ({
      tenant: 'one',
      types: ['Observation'],
      where: and(),
      access: 'everything',
      order: [],
      limit: 1_000,
      total: 'none',
      ...rest,
    })
    const apply = (...documents: readonly IndexDocument[]): Promise<void> => open.index.apply(documents)
    const find = (rest: Partial<Plan> = {}): Promise<HitPage> => open.index.find(planned(rest))
    const ids = async (rest: Partial<Plan> = {}): Promise<string> => (await find(rest)).hits.map(({ id }) => id).join(' ')
    const withKeys = (id: string, ...b: readonly string[]): IndexDocument => document({ id, keys: { b } })
    const key = (...oneOf: readonly string[]): Predicate => ({ kind: 'key', field: 'b', oneOf })

    describe('finds by FHIR queries', () => {
      it.each(ROWS)('%s → %s', async (query, expected) => {
        await apply(...OBSERVATIONS)
        const { where: conditions, order } = parseSearch('Observation', [...new URLSearchParams(query)], { handling: 'strict', now: NOW })
        const where = await resolveChains(conditions, unrestrictedSearchAccess('one'), open.index)
        const meant = OBSERVATIONS.filter((each) => matchesPredicate(where, each)).sort((a, b) =>
          comparePositions(sortPositionOf(a, order), sortPositionOf(b, order), order),
        )
        expect(await ids({ where, order })).toBe(expected)
        expect(meant.map(({ id }) => id).join(' ')).toBe(expected)
      })
    })

    describe('canonicals', () => {
      const VERSIONS = [
        undefined,
        '1',
        '1.2',
        '1.9.0',
        '1.10.0-alpha.2',
        '1.10.0-alpha.10',
        '1.10.0-beta',
        '1.10.0',
        '2',
        '10',
        '2019',
        'R4',
      ]
      const inOrder = [...VERSIONS.map((version) => ['u:a', version] as const), ['u:a/b', '1'], ['u:b', '1']] as const
      // Ids in the opposite order.
      const nameOf = (i: number): string => `${99 - i}`
      const expected = inOrder.map((_, i) => nameOf(i)).join(' ')
      const sorted = async (type: string, order: string): Promise<string> => {
        const parsed = parseSearch(type, [['_sort', order]], { handling: 'strict' })
        return ids({ types: [type], order: parsed.order })
      }

      it('sorts definitions by url, then by version', async () => {
        await apply(...inOrder.map(([url, version], i) => extracted('ValueSet', nameOf(i), { url, ...(version && { version }) })))
        expect(await sorted('ValueSet', 'url')).toBe(expected)
        expect(await sorted('ValueSet', '-url')).toBe(expected.split(' ').reverse().join(' '))
      })

      it('sorts references to definitions by url, then by version', async () => {
        const canonical = (url: string, version: string | undefined) => (version === undefined ? url : `${url}|${version}`)
        await apply(
          ...inOrder.map(([url, version], i) => extracted('QuestionnaireResponse', nameOf(i), { questionnaire: canonical(url, version) })),
        )
        expect(await sorted('QuestionnaireResponse', 'questionnaire')).toBe(expected)
      })
    })

    it.each([
      [400, '1 2'],
      [401, '1 2'],
      [4_000, '1 2'],
      [4_001, '1'],
      [7_999, '1'],
      [8_000, '1'],
    ])('finds a text of %i characters by :contains', async (length, expected) => {
      const text = 'ab'.repeat(4_000)
      const named = (id: string, family: string) => extracted('Patient', id, { name: [{ family }] })
      await apply(named('1', text), named('2', `${text.slice(0, 4_000)}*${text.slice(4_001)}`), named('3', 'ab'.repeat(150)))
      const parsed = parseSearch('Patient', [['family:contains', text.slice(0, length).toUpperCase()]], { handling: 'strict' })
      const where = await resolveChains(parsed.where, unrestrictedSearchAccess('one'), open.index)
      expect(await ids({ types: ['Patient'], where })).toBe(expected)
      expect(await ids({ types: ['Patient'], where: not(where) })).toBe(['1', '2', '3'].filter((id) => !expected.includes(id)).join(' '))
    })

    describe('comparison', () => {
      const KEYS = ['', 'A', 'a', 'a%', 'a\u0000', 'a_', 'ab', 'é', '\uffee', '\u{1f600}']
      beforeEach(() => apply(...KEYS.map((each, i) => withKeys(`${i}`, each))))

      it('compares keys exactly: no wildcard, no case, no accent', async () => {
        expect(await ids({ where: key('a') })).toBe('2')
        expect(await ids({ where: key('a%') })).toBe('3')
        expect(await ids({ where: key('e') })).toBe('')
        expect(await ids({ where: { kind: 'contains', field: 'b', text: '%' } })).toBe('3')
        expect(await ids({ where: { kind: 'contains', field: 'b', text: '_' } })).toBe('5')
      })

      it('compares keys by code point, also beyond the basic plane', async () => {
        expect(await ids({ where: { kind: 'keyRange', field: 'b', from: 'b' } })).toBe('7 8 9')
        expect(await ids({ where: { kind: 'keyRange', field: 'b', from: '\uffee', to: '\u{1f600}' } })).toBe('8')
        expect(await ids({ where: { kind: 'keyRange', field: 'b', from: 'a', to: 'ab' } })).toBe('2 3 4 5')
      })

      it('matches nothing for an empty list, and an empty key for itself', async () => {
        expect(await ids({ where: key() })).toBe('')
        expect(await ids({ where: key('') })).toBe('0')
        expect(await ids({ where: { kind: 'some', of: [] } })).toBe('')
        expect(await ids({ where: { kind: 'all', of: [] } })).toBe('0 1 2 3 4 5 6 7 8 9')
      })

      it('matches one of 40,000 keys', async () => {
        expect(await ids({ where: key(...Array.from({ length: 40_000 }, (_, i) => `k${i}`), 'ab', "'") })).toBe('6')
      })
    })

    it('finds nothing by an unknown field, and everything by its negation', async () => {
      await apply(withKeys('1', 'x'))
      expect(await ids({ where: { kind: 'key', field: 'unheard-of', oneOf: ['x'] } })).toBe('')
      expect(await ids({ where: not({ kind: 'key', field: 'unheard-of', oneOf: ['x'] }) })).toBe('1')
      expect(await ids({ types: ['Patient'] })).toBe('')
      expect(await ids({ tenant: 'nobody' })).toBe('')
    })

    describe('version order', () => {
      const first = withKeys('1', 'old')
      const second = { ...withKeys('1', 'new'), version: 2 }
      const third = { ...document({ id: '1', deleted: true }), version: 3 }
      const fourth = { ...withKeys('1', 'again'), version: 4 }

      it('keeps the highest version, in any order and however often versions arrive', async () => {
        const orders = [[first, second], [second, first], [first, second, first, second], [second]]
        for (const [i, order] of orders.entries()) {
          for (const each of order) await apply({ ...each, id: `${i}` })
          await apply(...order.map((each) => ({ ...each, id: `${i} at once` })))
        }
        expect(await ids({ where: key('new') })).toBe('0 0 at once 1 1 at once 2 2 at once 3 3 at once')
        expect(await ids({ where: key('old') })).toBe('')
      })

      it('hides a deleted resource, and an older version does not restore it', async () => {
        await apply(first, third)
        await apply(second)
        expect(await find({ total: 'accurate' })).toEqual({ hits: [], more: false, total: 0 })
        expect(await ids({ where: not(key('x')) })).toBe('')
      })

      it('hides a deleted resource in searches by id', async () => {
        const keys = { '_id:code': ['1'] }
        const where: Predicate = { kind: 'key', field: '_id:code', oneOf: ['1'] }
        await apply({ ...first, keys })
        expect((await find({ where, total: 'accurate' })).total).toBe(1)
        await apply(third)
        expect(await find({ where, total: 'accurate' })).toEqual({ hits: [], more: false, total: 0 })
      })

      it('finds a resource that was created again after its deletion', async () => {
        for (const each of [third, fourth, second]) await apply(each)
        expect((await find({ where: key('again') })).hits).toMatchObject([{ id: '1', version: 4 }])
        expect(await ids()).toBe('1')
      })

      it('removes all values of the previous version', async () => {
        const full = document({
          id: '1',
          keys: { b: ['x'] },
          spans: {
            d: [
              [Number.NEGATIVE_INFINITY, 1],
              [3, Number.POSITIVE_INFINITY],
            ],
          },
          numbers: { n: [[1, 1]] },
          order: { p: { low: 1, high: 2 } },
          compartments: ['Patient/1'],
        })
        const wheres: readonly Predicate[] = [
          key('x'),
          { kind: 'span', field: 'd', relation: 'intersects', low: 5, high: 6 },
          { kind: 'number', field: 'n', relation: 'within', low: 0, high: 2 },
          { kind: 'present', field: 'p' },
          { kind: 'compartment', oneOf: ['Patient/1'] },
        ]
        await apply(full)
        for (const where of wheres) expect(await ids({ where })).toBe('1')
        await apply(document({ id: '1', version: 2 }))
        for (const where of wheres) expect((await find({ where, total: 'accurate' })).total).toBe(0)
      })
    })

    describe('isolation of tenants and types', () => {
      beforeEach(() =>
        apply(withKeys('1', 'x'), { ...withKeys('1', 'x'), tenant: 'two', version: 7 }, { ...withKeys('1', 'x'), type: 'Patient' }),
      )

      it('holds in searches', async () => {
        expect((await find({ where: key('x'), total: 'accurate' })).hits.map(({ type, version }) => [type, version])).toEqual([
          ['Observation', 1],
        ])
        expect((await find({ tenant: 'two', types: ['Observation', 'Patient'], total: 'accurate' })).total).toBe(1)
      })

      it('holds in updates and deletions', async () => {
        await apply(document({ id: '1', tenant: 'two', version: 8, deleted: true }))
        expect(await ids({ types: ['Observation', 'Patient'] })).toBe('1 1')
        expect(await ids({ tenant: 'two' })).toBe('')
      })
    })

    describe('order and paging', () => {
      const ordered = (id: string, low?: string | number, high = low): IndexDocument =>
        document({ id, ...(low === undefined ? {} : { order: { p: { low, high: high! } } }) })
      const by = (descending = false) => ({ order: [{ field: 'p', descending }] })

      it('orders by id in code units by default', async () => {
        await apply(...['b', 'B', '10', '9', 'a-', 'a.'].map((id) => withKeys(id)))
        expect(await ids()).toBe('10 9 B a- a. b')
      })

      it('sorts by low value ascending, by high descending, missing values last, then by id', async () => {
        await apply(ordered('1', 5, 50), ordered('2'), ordered('3', 2, 90), ordered('4', 5, 7), ordered('5', -1, -1), ordered('6'))
        expect(await ids(by())).toBe('5 3 1 4 2 6')
        expect(await ids(by(true))).toBe('3 1 4 5 2 6')
      })

      it('sorts text by code point', async () => {
        await apply(...['\u{1f600}', '\uffee', 'b', 'B', 'a\u0000b', 'a', 'ab'].map((low, i) => ordered(`${i}`, low)))
        expect(await ids(by())).toBe('3 5 4 6 2 1 0')
        expect(await ids(by(true))).toBe('0 1 2 6 4 5 3')
      })

      it('sorts by several keys, each in its direction', async () => {
        const order = (p: string, q: number) => ({ p: { low: p, high: p }, q: { low: q, high: q } })
        await apply(
          document({ id: '1', order: order('a', 1) }),
          document({ id: '2', order: order('b', 1) }),
          document({ id: '3', order: order('a', 2) }),
          document({ id: '4', order: { q: { low: 9, high: 9 } } }),
        )
        expect(
          await ids({
            order: [
              { field: 'p', descending: true },
              { field: 'q', descending: false },
            ],
          }),
        ).toBe('2 1 3 4')
        expect(
          await ids({
            order: [
              { field: 'q', descending: true },
              { field: 'p', descending: true },
            ],
          }),
        ).toBe('4 3 2 1')
      })

      it('sorts several types together, ties by type and then id', async () => {
        const types = ['Observation', 'Patient']
        const named = async (field: string) => {
          const { hits } = await find({ types, order: [{ field, descending: false }] })
          return hits.map(({ type, id }) => `${type[0]}${id}`).join(' ')
        }
        await apply(ordered('2', 1), ordered('1', 2), { ...ordered('1', 1), type: 'Patient' })
        await apply({ ...ordered('0', 2), type: 'Patient' })
        expect((await find({ types })).hits.map(({ type, id }) => `${type[0]}${id}`).join(' ')).toBe('O1 O2 P0 P1')
        expect(await named('p')).toBe('O2 P1 O1 P0')
        await apply(document({ id: '2', version: 2, order: { t: { low: '\u{1f600}', high: '' } } }))
        await apply(document({ id: '0', type: 'Patient', version: 2, order: { t: { low: '\uffee', high: '' } } }))
        expect(await named('t')).toBe('P0 O2 O1 P1')
      })

      it('shows each hit once, in order, in pages of every size', async () => {
        await apply(...Array.from({ length: 23 }, (_, i) => ordered(`${i}`, i % 4 === 3 ? undefined : i % 3)))
        for (const order of [[], by().order, by(true).order])
          for (const limit of [1, 2, 5, 22, 23, 24]) {
            const whole = (await find({ order })).hits
            const seen = await allPages(open.index, planned({ order, limit }))
            expect(seen).toEqual(whole)
          }
      })

      it('continues after the last hit even if it was deleted', async () => {
        await apply(...[1, 2, 3, 4].map((i) => ordered(`${i}`, i)))
        const first = await find({ ...by(), limit: 2 })
        await apply({ ...document({ id: '2', deleted: true }), version: 2 })
        const after = first.hits[1]!.position
        expect(await ids({ ...by(), after })).toBe('3 4')
        expect(await ids({ after: { values: [], type: 'Observation', id: '2' } })).toBe('3 4')
      })

      it('skips hits', async () => {
        await apply(...[1, 2, 3, 4, 5].map((i) => ordered(`${i}`, -i)))
        expect(await ids({ skip: 2, limit: 2 })).toBe('3 4')
        expect((await find({ skip: 3, limit: 2 })).more).toBe(false)
        expect(await ids({ ...by(), skip: 3 })).toBe('2 1')
        expect(await ids({ skip: 10 })).toBe('')
      })
    })

    describe('tuples', () => {
      const range = (
        low: number,
        high: number,
        relation: RangeTest['relation'] = 'within',
        kind: RangeTest['kind'] = 'span',
      ): RangeTest => ({
        kind,
        relation,
        low,
        high,
      })
      const tuple = (key: string, ...ranges: readonly RangeTest[]): Predicate => ({ kind: 'tuple', field: 't', key, labels: [], ranges })
      const NEVER = Number.NEGATIVE_INFINITY
      beforeEach(() =>
        apply(
          document({
            id: '1',
            tuples: {
              t: [
                { key: 'a', labels: [], ranges: [[10, 20]] },
                { key: 'b', labels: [], ranges: [[30, 40]] },
              ],
            },
          }),
          document({
            id: '2',
            tuples: {
              t: [{ key: 'a', labels: [], ranges: [[30, Number.POSITIVE_INFINITY]] }],
              u: [{ key: 'b', labels: [], ranges: [[10, 20]] }],
            },
          }),
          document({
            id: '3',
            tuples: {
              t: [
                {
                  key: 'c',
                  labels: [],
                  ranges: [
                    [1, 1],
                    [5, 5],
                  ],
                },
                {
                  key: 'c',
                  labels: [],
                  ranges: [
                    [2, 2],
                    [6, 6],
                  ],
                },
              ],
            },
          }),
          document({ id: '4' }),
        ),
      )

      it('match a key and an interval of one entry, never of two', async () => {
        expect(await ids({ where: tuple('a', range(10, 20)) })).toBe('1')
        expect(await ids({ where: tuple('a', range(30, 41)) })).toBe('')
        expect(await ids({ where: tuple('a', range(15, 31, 'intersects')) })).toBe('1 2')
        expect(await ids({ where: tuple('b', range(NEVER, 40)) })).toBe('1')
        expect(await ids({ where: not(tuple('a', range(0, 25))) })).toBe('2 3 4')
      })

      it('match two intervals by position, with the start included and the end excluded', async () => {
        const points = (a: number, b: number) =>
          tuple('c', range(a, a + 0.5, 'within', 'number'), range(b, b + 0.5, 'intersects', 'number'))
        expect(await ids({ where: points(1, 5) })).toBe('3')
        expect(await ids({ where: points(1, 6) })).toBe('')
        expect(await ids({ where: tuple('c', range(1.5, 2, 'within', 'number'), range(0, 9, 'within', 'number')) })).toBe('')
      })

      it('match the first, the first two or all of three intervals', async () => {
        const at = (...points: readonly number[]) => points.map((point) => range(point, point + 1, 'within', 'number'))
        const entry = (...points: readonly number[]) => ({ key: 'd', labels: [], ranges: points.map((point) => [point, point] as const) })
        await apply(
          document({ id: '5', tuples: { t: [entry(1, 2, 3), entry(4, 5, 6)] } }),
          document({ id: '6', tuples: { t: [entry(1, 2)] } }),
        )
        expect(await ids({ where: tuple('d', ...at(1)) })).toBe('5 6')
        expect(await ids({ where: tuple('d', ...at(1, 2)) })).toBe('5 6')
        expect(await ids({ where: tuple('d', ...at(4, 5, 6)) })).toBe('5')
        expect(await ids({ where: tuple('d', ...at(1, 2, 6)) })).toBe('')
        expect(await ids({ where: tuple('d', ...at(2)) })).toBe('')
      })

      it('match labels of the same entry, whole or by prefix', async () => {
        const labelled = (id: string, ...labels: readonly string[]) =>
          document({
            id,
            tuples: {
              t: [
                { key: 'k', labels, ranges: [] },
                { key: 'm', labels: ['other'], ranges: [[1, 2]] },
              ],
            },
          })
        await apply(labelled('5', 'one', 'two'), labelled('6', 'one%', 'tw'), labelled('7'))
        const where = (key: string | undefined, ...tests: readonly string[]): Predicate => ({
          kind: 'tuple',
          field: 't',
          ...(key === undefined ? {} : { key }),
          labels: tests.map((text) => ({ text: text.replace(/\*$/, ''), whole: !text.endsWith('*') })),
          ranges: [],
        })
        expect(await ids({ where: where('k', 'one') })).toBe('5')
        expect(await ids({ where: where('k', 'one*') })).toBe('5 6')
        expect(await ids({ where: where('k', 'one*', 'tw') })).toBe('6')
        expect(await ids({ where: where('k', 'one', 'other') })).toBe('')
        expect(await ids({ where: where(undefined, 'two') })).toBe('5')
        expect(await ids({ where: where('k') })).toBe('5 6 7')
        expect(await ids({ where: { kind: 'tuple', field: 't', key: 'k', labels: [], ranges: [range(0, 9)] } })).toBe('')
      })

      it('stop matching once the resource has changed', async () => {
        await apply(document({ id: '1', version: 2 }))
        expect(await ids({ where: tuple('a', range(0, 100)) })).toBe('')
      })
    })

    it('finds points within a distance on a sphere, across the date line and the pole', async () => {
      const at = (id: string, latitude: number, longitude: number) => document({ id, points: { p: [[latitude, longitude]] } })
      await apply(at('1', 52.52, 13.405), at('2', 52.4, 13.05), at('3', -17, 179.99), at('4', 89.999, 10), document({ id: '5' }))
      const near = (latitude: number, longitude: number, metres: number) =>
        ids({ where: { kind: 'near', field: 'p', latitude, longitude, metres } })
      expect(await near(52.52, 13.405, 0)).toBe('1')
      expect(await near(52.52, 13.405, 27_000)).toBe('1')
      expect(await near(52.52, 13.405, 28_000)).toBe('1 2')
      expect(await near(-17, -179.99, 3_000)).toBe('3')
      expect(await near(89.999, -170, 300)).toBe('4')
      expect(await near(0, 0, 30_000_000)).toBe('1 2 3 4')
      // 111,195 m of a great circle are a degree.
      await apply(at('6', -30, 100))
      expect([await near(-29, 100, 111_200), await near(-31, 100, 111_200)]).toEqual(['6', '6'])
      expect([await near(-29, 100, 111_190), await near(-31, 100, 111_190)]).toEqual(['', ''])
    })

    it('lists the distinct keys of a field among the matches', async () => {
      await apply(
        document({ id: '1', keys: { b: ['x'], c: ['1', '2'] } }),
        document({ id: '2', keys: { b: ['x'], c: ['2'] } }),
        document({ id: '3', keys: { b: ['y'], c: ['3'], '_id:code': ['3'] } }),
        document({ id: '4', keys: { b: ['x'] } }),
        document({ id: '5', type: 'Patient', keys: { b: ['x'], c: ['5'] } }),
      )
      const distinct = async (where: Predicate, field = 'c', limit = 10, types = ['Observation']) =>
        [...(await open.index.distinct({ tenant: 'one', types, where, access: 'everything' }, field, limit))].sort().join(' ')
      expect(await distinct(key('x'))).toBe('1 2')
      expect(await distinct(and())).toBe('1 2 3')
      expect(await distinct(and(), 'c', 10, ['Observation', 'Patient'])).toBe('1 2 3 5')
      expect(await distinct(key('z'))).toBe('')
      expect(await distinct(and(), 'unheard-of')).toBe('')
      expect(await distinct(key('y'), '_id:code')).toBe('3')
      expect((await open.index.distinct(planned(), 'c', 2)).length).toBe(2)
    })

    describe('grouping', () => {
      const member = (id: string, low: number | undefined, ...groups: readonly string[]) =>
        document({
          id,
          keys: { b: ['x'], g: groups },
          groups: { 'g:code': groups },
          ...(low === undefined ? {} : { order: { p: { low, high: low } } }),
        })
      const groups = (rest: Partial<GroupPlan> = {}) =>
        open.index.groups({
          tenant: 'one',
          types: ['Observation'],
          where: key('x'),
          access: 'everything',
          field: 'g:code',
          order: [{ field: 'p', descending: true }],
          hits: 1,
          limit: 10,
          ...rest,
        })
      const shown = ({ groups }: GroupPage) =>
        groups.map(({ key, size, hits }) => `${key}${size}:${hits.map(({ id }) => id).join(',')}`).join(' ')
      beforeEach(() =>
        apply(
          member('1', 5, 'A', 'B'),
          member('2', 9, 'A'),
          member('3', undefined, 'C'),
          member('4', 5),
          member('5', 7, 'B', '\u{1f600}', '\uffee'),
          { ...member('6', 99, 'A'), keys: { b: ['y'] } },
          { ...member('7', 99, 'A'), tenant: 'two' },
        ),
      )

      it('lists every match under each of its keys, in the order of first hits', async () => {
        const page = await groups()
        expect(shown(page)).toBe('A2:2 B2:5 \uffee1:5 \u{1f600}1:5 C1:3')
        expect([page.total, page.more]).toEqual([5, false])
        expect(shown(await groups({ hits: 5 }))).toBe('A2:2,1 B2:5,1 \uffee1:5 \u{1f600}1:5 C1:3')
        expect(shown(await groups({ order: [{ field: 'p', descending: false }] }))).toBe('A2:1 B2:1 \uffee1:5 \u{1f600}1:5 C1:3')
        expect(shown(await groups({ order: [] }))).toBe('A2:1 B2:1 C1:3 \uffee1:5 \u{1f600}1:5')
        expect(await groups({ field: 'h:code' })).toEqual({ groups: [], more: false, total: 5 })
      })

      it('pages with every size, each group once', async () => {
        const whole = await groups()
        for (const limit of [1, 2, 4, 5]) {
          const seen: HitGroup[] = []
          for (let after: GroupPlan['after']; ; ) {
            const page = await groups({ limit, ...(after === undefined ? {} : { after }) })
            seen.push(...page.groups)
            expect(page.total).toBe(5)
            if (!page.more) break
            expect(page.groups).toHaveLength(limit)
            const last = page.groups.at(-1)!
            after = { position: last.hits[0]!.position, key: last.key }
          }
          expect(seen).toEqual(whole.groups)
          expect((await groups({ limit, skip: 1 })).groups).toEqual(whole.groups.slice(1, 1 + limit))
        }
      })

      it('groups an updated resource by its current values', async () => {
        await apply({ ...member('2', 9, 'C'), version: 2 }, { ...document({ id: '1', deleted: true }), version: 2 })
        expect(shown(await groups({ hits: 2 }))).toBe('C2:2,3 B1:5 \uffee1:5 \u{1f600}1:5')
      })
    })

    it('counts the matches, not the page; the estimate is exact up to 10,000 and absent above', async () => {
      const documents = Array.from({ length: 10_001 }, (_, i) => withKeys(`${i}`, i === 0 ? 'first' : 'other', 'each'))
      await apply(...documents)
      const total = async (where: Predicate, total: Plan['total']) => (await find({ where, total, limit: 3 })).total
      expect(await total(key('other'), 'estimate')).toBe(10_000)
      expect(await total(key('other', 'first'), 'estimate')).toBeUndefined()
      expect(await total(key('other', 'each'), 'accurate')).toBe(10_001)
      expect(await total(and(), 'accurate')).toBe(10_001)
      expect(await total(and(), 'none')).toBeUndefined()
      expect(await find({ limit: 0, total: 'accurate', where: and(key('each'), key('first')) })).toEqual({
        hits: [],
        more: false,
        total: 1,
      })
    })

    it('reports that it has caught up after apply', async () => {
      await apply(withKeys('1', 'x'))
      expect(await open.index.caughtUp([], 5_000)).toBe(true)
    })

    it('agrees with the reference evaluation for generated documents and plans', async () => {
      const seed = firstSeed()
      const random = randomOf(seed)
      const history = versionsOf(documentsOf(random, caseCountOf(120, 400)))
      for (let at = 0; at < history.length; ) {
        const size = 1 + random.below(9)
        await apply(...history.slice(at, at + size), ...(random.below(3) === 0 ? history.slice(0, random.below(at + 1)) : []))
        at += size
      }
      for (let round = 0; round < caseCountOf(400, rounds); round++) {
        const plan = planOf(random)
        const found = await open.index.find(plan)
        expect({ seed, round, plan, found: shownOf(found) }).toEqual({ seed, round, plan, found: shownOf(meaning(plan, history)) })
        if (plan.skip === undefined && round % 8 === 0)
          expect({ seed, plan, hits: (await allPages(open.index, plan)).map(({ id }) => id) }).toEqual({
            seed,
            plan,
            hits: meaning({ ...plan, limit: 10_000 }, history).hits.map(({ id }) => id),
          })
        if (round % 4 === 0) await agreesOnGroups(random, round, seed)
      }

      async function agreesOnGroups(random: Random, round: number, seed: number): Promise<void> {
        const plan = groupPlanOf(random)
        expect({ seed, round, plan, page: await open.index.groups(plan) }).toEqual({ seed, round, plan, page: groupMeaning(plan, history) })
        const keys = await open.index.distinct(plan, 'c', 1_000)
        const meant = new Set(matchesOf(plan, history).flatMap((each) => each.keys.c ?? []))
        expect({ seed, plan, keys: [...keys].sort() }).toEqual({ seed, plan, keys: [...meant].sort() })
      }
    })
  })
}

const NOW = Date.UTC(2020, 5, 1)

const extracted = (type: string, id: string, fields: Omit<Resource, 'resourceType'>): IndexDocument =>
  extract(
    { tenant: 'one', type, id, versionId: 1, lastUpdated: NOW, deleted: false, compartments: [], body: new Uint8Array() },
    { resourceType: type, id, meta: { lastUpdated: '2020-06-01T00:00:00.000Z' }, ...fields },
  )

const observation = (id: string, fields: Omit<Resource, 'resourceType'>): IndexDocument => extracted('Observation', id, fields)

const OBSERVATIONS: readonly IndexDocument[] = [
  observation('0', { code: { coding: [{ system: 's1', code: 'a' }] }, effectiveDateTime: '2020', status: 'final' }),
  observation('1', {
    code: {
      coding: [
        { system: 's2', code: 'a' },
        { system: 's1', code: 'b' },
      ],
    },
    effectiveDateTime: '2020-05',
    status: 'final',
  }),
  observation('2', { code: { coding: [{ code: 'a' }] }, effectiveDateTime: '2020-05-14', subject: { reference: 'Patient/1' } }),
  observation('3', { effectiveDateTime: '2021-01-01T10:00:00Z', subject: { reference: 'Group/1' } }),
  observation('4', { code: { coding: [{ system: 's1', code: 'A' }] }, effectivePeriod: { start: '2019-12' } }),
]

const ROWS: readonly (readonly [query: string, ids: string])[] = [
  ['code=a', '0 1 2'],
  ['_id=3,0,9', '0 3'],
  ['_id=|3', '3'],
  ['_id:not=3&date=2020', '0 1 2'],
  ['code=s1|a', '0'],
  ['code=|a', '2'],
  ['code=s1|', '0 1 4'],
  ['code=a,b', '0 1 2'],
  ['code=a&code=b', '1'],
  ['code:not=a', '3 4'],
  ['code:missing=true', '3'],
  ['date=2020', '0 1 2'],
  ['date=2020-05', '1 2'],
  ['date=ne2020', '3 4'],
  ['date=gt2020-05', '0 3 4'],
  ['date=ge2020-05', '0 1 2 3 4'],
  ['date=sa2020-05', '3'],
  ['date=le2020-05', '0 1 2 4'],
  ['date=eb2021', '0 1 2'],
  ['date=ap2020-05-30', '0 1 4'],
  ['date=ap2021-01', '0 3 4'],
  ['subject=1', '2 3'],
  ['subject=Patient/1', '2'],
  ['subject:Group=1', '3'],
  ['status=FINAL&code=a&_sort=-date', '0 1'],
  ['_sort=date', '4 0 1 2 3'],
  ['_sort=-date', '4 3 0 1 2'],
  ['_sort=code,-date', '2 4 0 1 3'],
]
