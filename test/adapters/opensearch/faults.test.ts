/** The OpenSearch index while the engine is overloaded, unreachable or refuses a document, and while it is rebuilt. */

import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { indexDefinition } from '../../../lambdas/adapters/opensearch/index-definition.ts'
import type { OpenSearchIndex, OpenSearchOptions } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { tokenOf } from '../../../lambdas/adapters/opensearch/visibility.ts'
import { encode } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { isFault } from '../../../lambdas/ports/faults.ts'
import { and, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnOpenSearch, TEST_SETTINGS, type TestIndex } from '../../engines/opensearch-index.ts'
import { type FaultyEngine, type ProxiedRequest, type ProxyFault, startFaultyProxy } from '../../engines/opensearch-proxy.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { fault } from '../../fixtures/machine-fault.ts'

/** Milliseconds to wait for a silent engine. An engine that answers may take longer on a busy machine. */
const SILENT = 2_000
const patienceFor = ({ kind }: ProxyFault) => (kind === 'silence' ? { patience: SILENT } : {})

runOnOpenSearch('OpenSearch among faults', (endpoint) => {
  let open: TestIndex
  let proxies: FaultyEngine[]
  let told: string[]
  beforeEach(() => {
    open = createTestIndex(endpoint)
    proxies = []
    told = []
  })
  afterEach(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()))
    await open.close()
  })

  const through = async (plan: (request: ProxiedRequest) => ProxyFault | undefined, options: Partial<OpenSearchOptions> = {}) => {
    const proxy = await startFaultyProxy(endpoint, plan)
    proxies.push(proxy)
    return open.another(
      { attempts: 4, pause: 1, patience: 60_000, onPoison: ({ id }, reason) => void told.push(`${id}: ${reason}`), ...options },
      proxy.endpoint,
    )
  }
  /** Faults of the first requests to a path. */
  const first = (path: string, ...faults: readonly ProxyFault[]) => {
    const left = [...faults]
    return (request: ProxiedRequest) => (request.path.includes(path) ? left.shift() : undefined)
  }
  const some = (from: number, to: number, fields: Partial<IndexDocument> = {}) =>
    Array.from({ length: to - from }, (_, i) => document({ id: `${from + i}`, keys: { b: ['x'] }, ...fields }))
  const plan = (rest: Partial<Plan> = {}): Plan => ({
    tenant: 'one',
    types: ['Observation'],
    where: and(),
    access: 'everything',
    order: [],
    limit: 1_000,
    total: 'accurate',
    ...rest,
  })
  const ids = async (where: Predicate = and(), index = open.index) =>
    (await index.find(plan({ where }))).hits.map(({ id, version }) => (version === 1 ? id : `${id}v${version}`)).join(' ')
  const key = (field: string, value: string): Predicate => ({ kind: 'key', field, oneOf: [value] })
  const notApplied = async (index: { apply: OpenSearchIndex['apply'] }, documents: readonly IndexDocument[]) => {
    const error = await index.apply(documents).catch((error: unknown) => error)
    if (!isFault(error, 'not-applied')) throw error
    return error.documents.map(({ id }) => id).join(' ')
  }

  describe('A temporary fault', () => {
    const FAULTS: readonly ProxyFault[] = [
      { kind: 'status', status: 429 },
      { kind: 'status', status: 503 },
      { kind: 'drop', when: 'before' },
      { kind: 'drop', when: 'after' },
      { kind: 'garble' },
      { kind: 'silence' },
      { kind: 'refuse', ids: ['1', '2'], status: 429 },
      { kind: 'refuse', ids: ['0'], status: 503 },
    ]
    it.each(FAULTS)('is retried when writing: %o', async (fault) => {
      await open.index.apply(some(0, 1))
      const index = await through(first('/_bulk', fault, fault), patienceFor(fault))
      await index.apply(some(0, 4))
      expect(await ids()).toBe('0 1 2 3')
      expect(told).toEqual([])
    })

    it.each(FAULTS.slice(0, 5))('is retried when searching: %o', async (fault) => {
      await open.index.apply(some(0, 3))
      const index = await through(first('_search', fault, fault))
      expect(await ids(and(), index)).toBe('0 1 2')
    })

    it.each(['_search', '_refresh'])('is retried if a copy of a shard fails: %s', async (path) => {
      await open.index.apply(some(0, 1))
      let failed = 0
      const isSeenAfter = async (faults: number): Promise<boolean> => {
        const planned = first(path, ...Array.from({ length: faults }, () => ({ kind: 'shards', successful: 1, failed: 1 }) as const))
        const index = await through((request) => {
          const fault = planned(request)
          if (fault !== undefined) failed++
          return fault
        })
        const isSeen = await index.caughtUp([tokenOf(some(0, 1)[0]!)], 60_000)
        return isSeen && (await ids(and(), index)) === '0'
      }
      expect([await isSeenAfter(2), failed]).toEqual([true, 2])
      await expect(isSeenAfter(4)).rejects.toMatchObject({ fault: 'unavailable' })
    })

    it.each(FAULTS.slice(0, 6))('does not prevent a later creation of the index: %o', async (fault) => {
      const index = await through((request) => (request.method === 'PUT' ? fault : undefined), { ...patienceFor(fault), attempts: 2 })
      if (fault.kind === 'status' || (fault.kind === 'drop' && fault.when === 'before'))
        expect(await notApplied(index, some(0, 2))).toBe('0 1')
      else await index.apply(some(0, 2)).catch(() => undefined)
      await open.index.apply(some(0, 2))
      expect(await ids()).toBe('0 1')
    })
  })

  describe('A lasting fault', () => {
    it('reports exactly the documents that are not indexed', async () => {
      const index = await through(({ path }) => (path.includes('/_bulk') ? { kind: 'refuse', ids: ['3', '5'], status: 503 } : undefined))
      expect(await notApplied(index, some(0, 7))).toBe('3 5')
      expect(await ids()).toBe('0 1 2 4 6')
      await open.index.apply(some(0, 7))
      expect(await ids()).toBe('0 1 2 3 4 5 6')
    })

    it('reports the documents of failed requests only', async () => {
      const isThird = ({ path, body }: ProxiedRequest) => path.includes('/_bulk') && body.includes('~3"')
      const index = await through((request) => (isThird(request) ? { kind: 'drop', when: 'before' } : undefined), { mostBytes: 1 })
      expect(await notApplied(index, some(0, 5))).toBe('3')
      expect(await ids()).toBe('0 1 2 4')
    })

    it('reports all versions of a resource if its newest is not indexed', async () => {
      const index = await through(({ path }) => (path.includes('/_bulk') ? { kind: 'refuse', ids: ['1'], status: 429 } : undefined))
      expect(await notApplied(index, [...some(0, 2), ...some(1, 3, { version: 2 })])).toBe('1 1')
      expect(await ids()).toBe('0 2v2')
    })

    it('reports all documents if the engine is unreachable, and fails searches', async () => {
      const index = await through(() => ({ kind: 'drop', when: 'before' }))
      expect(await notApplied(index, some(0, 3))).toBe('0 1 2')
      await expect(index.find(plan())).rejects.toThrow('no answer')
    })

    it('prints errors without content of resources or searches', async () => {
      const index = await through(({ path }) => (path.includes('/_bulk') ? { kind: 'status', status: 503 } : undefined))
      const secret = document({ id: '1', keys: { b: ['sentinel'] }, body: new TextEncoder().encode('sentinel') })
      const written = await index.apply([secret]).catch((error: unknown) => error)
      const where: Predicate = {
        kind: 'some',
        of: Array.from({ length: 2_000 }, () => ({ kind: 'contains', field: 'b', text: 'sentinel' })),
      }
      const searched = await open.index.find(plan({ where })).catch((error: unknown) => error)
      for (const error of [written, searched]) expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('sentinel')
    })

    it('fails a search with overloaded if it is refused to the end', async () => {
      const index = await through(() => ({ kind: 'status', status: 429 }))
      await expect(index.find(plan())).rejects.toThrow(fault('overloaded'))
    })

    it.each(['closed', 'shut for reading', 'shut for writing'])('blocks an index that is %s until it is open again', async (how) => {
      const index = await through(() => undefined, { attempts: 2 })
      await index.apply(some(0, 2))
      const [name] = Object.keys((await open.client.indices.get({ index: `${open.prefix}-observation-v*` })).body)
      const path = `/${name}`
      const put = (method: string, to: string, body = {}) => open.client.transport.request({ method, path: `${path}${to}`, body })
      const block = (value: boolean | null) =>
        put('PUT', '/_settings', { [`index.blocks.${how === 'shut for reading' ? 'read' : 'write'}`]: value })
      await (how === 'closed' ? put('POST', '/_close') : block(true))
      const [found, applied] = await Promise.allSettled([index.find(plan()), index.apply(some(1, 3, { version: 2 }))])
      await (how === 'closed' ? put('POST', '/_open') : block(null))
      expect(found).toMatchObject(
        how === 'shut for writing' ? { status: 'fulfilled' } : { status: 'rejected', reason: { fault: 'unavailable' } },
      )
      expect(applied).toMatchObject(
        how === 'shut for reading' ? { status: 'fulfilled' } : { status: 'rejected', reason: { fault: 'not-applied' } },
      )
      expect(told).toEqual([])
      await index.apply(some(1, 3, { version: 2 }))
      expect(await ids()).toBe('0 1v2 2v2')
    })

    it('is not retried if the request is forbidden', async () => {
      let requests = 0
      const index = await through(({ path }) => {
        if (!path.includes('/_bulk')) return undefined
        requests++
        return { kind: 'status', status: 403 }
      })
      expect(await notApplied(index, some(0, 3))).toBe('0 1 2')
      expect(requests).toBe(1)
    })
  })

  describe('a document that cannot be indexed', () => {
    const POISON = 'x'.repeat(40_000)
    const poison = (id: string, fields: Partial<IndexDocument> = {}) =>
      document({
        id,
        keys: { b: ['x'], huge: [POISON], '_id:code': [id] },
        order: { _lastUpdated: { low: 5, high: 5 }, p: { low: 1, high: 1 } },
        spans: { _lastUpdated: [[5, 6]] },
        ...fields,
      })

    it('does not stop others, is reported, and is still found by id and time', async () => {
      const index = await through(() => undefined)
      await index.apply([...some(0, 2), poison('bad'), ...some(2, 4)])
      expect(told).toEqual(['bad: illegal_argument_exception'])
      expect(await ids(key('b', 'x'))).toBe('0 1 2 3')
      expect(await ids(key('_id:code', 'bad'))).toBe('bad')
      expect(await ids({ kind: 'span', field: '_lastUpdated', relation: 'within', low: 5, high: 6 })).toBe('bad')
      expect(await ids({ kind: 'present', field: '_lastUpdated' })).toBe('bad')
      expect(await ids({ kind: 'present', field: 'p' })).toBe('')
    })

    it('is not applied if the index takes no stub either, and stops no other', async () => {
      // The mapping has space for the fields of one more document, and for no others.
      const full = open.another({
        onPoison: ({ id }, reason) => void told.push(`${id}: ${reason}`),
        settings: { 'index.mapping.total_fields.limit': 27 },
      })
      const by = (id: string, field: string) => document({ id, keys: { [field]: ['x'] }, order: { _lastUpdated: { low: 1, high: 1 } } })
      await full.apply([document({ id: '1', keys: { b: ['x'] } })])
      expect(await notApplied(full, [by('2', 'b'), document({ id: '3', keys: { b: ['x'] } }), by('4', 'b')])).toBe('2 4')
      expect(told.map((line) => line.slice(0, 2)).sort()).toEqual(['2:', '4:'])
      expect(await ids(and(), full)).toBe('1 3')
    })

    it('replaces its older version, and is replaced by a newer one', async () => {
      const index = await through(() => undefined)
      await index.apply(some(0, 1))
      await index.apply([poison('0', { version: 2 })])
      expect(await ids(key('b', 'x'))).toBe('')
      expect(await ids()).toBe('0v2')
      await index.apply([...some(0, 1, { version: 3 }), poison('0', { version: 2 })])
      expect(await ids(key('b', 'x'))).toBe('0v3')
    })

    it('may have an overlong id, an impossible point, or an interval that ends early', async () => {
      const index = await through(() => undefined)
      await index.apply([
        document({ id: 'i'.repeat(600) }),
        document({ id: 'nowhere', points: { p: [[91, 400]] } }),
        document({ id: 'ends', spans: { d: [[2, 1]] } }),
        document({ id: 'wide', tuples: { t: [{ key: '', labels: [], ranges: Array.from({ length: 5 }, () => [1, 2] as const) }] } }),
        ...some(0, 1),
      ])
      expect(told.map((line) => line.slice(0, 8)).sort()).toEqual(['ends: ma', 'iiiiiiii', 'nowhere:', 'wide: st'])
      expect(await ids()).toBe('0 ends nowhere wide')
    })

    it('may exceed a request, which is then halved until the others succeed', async () => {
      const index = await through(({ body }) => (body.length > 3_000 ? { kind: 'status', status: 413 } : undefined))
      await index.apply([
        ...some(0, 20),
        document({ id: 'big', keys: { b: ['x', 'y'.repeat(5_000)], '_id:code': ['big'] } }),
        ...some(20, 40),
      ])
      expect(told).toEqual(['big: injected'])
      expect((await open.index.find(plan())).total).toBe(41)
      expect(await ids(key('_id:code', 'big'))).toBe('big')
    })
  })

  describe('an index made by an older release', () => {
    /** Creates an index without one folder of fields that this code writes. */
    const older = async (folder: string) => {
      await open.index.tend()
      const { identity } = encode((await open.state.read()).value).live!
      const { settings, mappings } = indexDefinition(TEST_SETTINGS)
      const { [folder]: _, ...properties } = mappings.properties as Readonly<Record<string, unknown>>
      const dynamic_templates = mappings.dynamic_templates.filter((each) => !Object.hasOwn(each, folder))
      const body = { settings, mappings: { ...mappings, properties, dynamic_templates } }
      await open.client.transport.request({ method: 'PUT', path: `/${open.prefix}-observation-v1-${identity}`, body })
    }

    it('gets the fields that its mapping has; the next index gets all', async () => {
      await older('numbers')
      const index = await through(() => undefined, { knownFor: 0 })
      const known = some(0, 3, { numbers: { n: [[1, 2]] } })
      await index.apply([...known, ...some(3, 4, { deleted: true })])
      expect([await ids(key('b', 'x')), told]).toEqual(['0 1 2', []])
      const rebuild = await open.index.rebuild('Observation')
      await index.apply([...some(4, 5, { numbers: { n: [[1, 2]] } })])
      await rebuild.apply(known)
      await rebuild.swap()
      const number: Predicate = { kind: 'number', field: 'n', relation: 'intersects', low: 1, high: 2 }
      expect([await ids(number), await ids(key('b', 'x')), told]).toEqual(['0 1 2 4', '0 1 2 4', []])
    })

    it('stores a stub of a document that it refuses', async () => {
      await older('numbers')
      const index = await through(() => undefined)
      await index.apply([document({ id: 'bad', keys: { b: ['y'.repeat(40_000)], '_id:code': ['bad'] } }), ...some(0, 1)])
      expect([told.map((line) => line.slice(0, 4)), await ids(key('_id:code', 'bad')), await ids()]).toEqual([['bad:'], 'bad', '0 bad'])
    })
  })

  it('The first document of a type disturbs no search of that type', async () => {
    const wrong: unknown[] = []
    const searching = open.another({ attempts: 1 })
    let found = 0
    let isOver = false
    const searcher = async () => {
      while (!isOver) {
        const hits = await searching.find(plan()).then(
          ({ hits }) => hits.length,
          (error: unknown) => error,
        )
        if (hits === 1) found++
        else if (hits !== 0) wrong.push(hits)
      }
    }
    const searchers = [searcher(), searcher(), searcher()]
    await Promise.all([open.index.apply(some(0, 1)), open.another().apply(some(0, 1))])
    await eventually(() => found > 0 || wrong.length > 0)
    isOver = true
    await Promise.all(searchers)
    expect(wrong).toEqual([])
  })

  it('An index that a crashed process left half created is finished by the next writer', async () => {
    const dies = await through(
      (request) => (request.path.includes('/_alias/') && request.method === 'PUT' ? { kind: 'drop', when: 'before' } : undefined),
      {
        attempts: 2,
      },
    )
    expect(await notApplied(dies, some(0, 1))).toBe('0')
    await open.another({ attempts: 3, pause: 1 }).apply(some(0, 1))
    expect(await ids()).toBe('0')
  })

  describe('a rebuild', () => {
    const total = async (where: Predicate = and()) => (await open.index.find(plan({ where, limit: 1 }))).total
    const indices = async () => {
      const { body } = await open.client.transport.request({ method: 'GET', path: `/${open.prefix}-*/_alias` })
      return Object.keys(body as object)
        .map((name) => name.slice(open.prefix.length + 1).replace(/-[0-9a-f]{12}$/, ''))
        .sort()
    }
    const NEW = some(0, 200, { keys: { b: ['new'] } })

    it('continues while the old index answers: no search sees fewer or duplicate documents', async () => {
      await open.index.apply(some(0, 200))
      let isOver = false
      let searches = 0
      const wrong: unknown[] = []
      const searcher = async () => {
        for (; !isOver; searches++) {
          const counted = await total().catch((error: unknown) => error)
          if (counted !== 200) wrong.push(counted)
        }
      }
      const searchers = [searcher(), searcher(), searcher()]
      try {
        for (let round = 2; round < 6; round++) {
          const rebuild = await open.index.rebuild('Observation')
          expect(await indices()).toEqual([`observation-v${round - 1}`, `observation-v${round}`])
          for (let at = 0; at < 200; at += 50) await rebuild.apply(NEW.slice(at, at + 50))
          await rebuild.swap()
          expect(await indices()).toEqual([`observation-v${round}`])
        }
      } finally {
        isOver = true
        await Promise.all(searchers)
      }
      expect(wrong).toEqual([])
      expect(searches).toBeGreaterThan(10)
      expect(await total(key('b', 'new'))).toBe(200)
    })

    it('includes concurrent writes of this process and others, in any order', async () => {
      await open.index.apply(some(0, 4))
      const other = open.another({ knownFor: 0 })
      const rebuild = await open.index.rebuild('Observation')
      await open.index.apply([document({ id: '0', version: 2 }), document({ id: '1', version: 2, deleted: true })])
      await other.apply([document({ id: '2', version: 2 }), document({ id: 'new' })])
      expect(await ids()).toBe('0v2 2v2 3 new')
      await rebuild.apply(some(0, 4))
      await rebuild.swap()
      expect(await ids()).toBe('0v2 2v2 3 new')
    })

    it('can be continued by another process and swapped twice', async () => {
      await open.index.apply(some(0, 2))
      const begun = await open.index.rebuild('Observation')
      await begun.apply(some(0, 1, { keys: { b: ['new'] } }))
      const goneOn = await open.another().rebuild('Observation')
      await goneOn.apply(some(1, 2, { keys: { b: ['new'] } }))
      await goneOn.swap()
      await begun.swap()
      expect(await ids(key('b', 'new'))).toBe('0 1')
      expect(await indices()).toEqual(['observation-v2'])
    })

    it('can be abandoned and then leaves nothing', async () => {
      await open.index.apply(some(0, 2))
      const writer = open.another({ knownFor: 1e9 })
      const rebuild = await open.index.rebuild('Observation')
      await writer.apply(some(2, 3))
      await open.index.abandon('Observation')
      expect(await indices()).toEqual(['observation-v1'])
      await writer.apply(some(3, 4))
      expect(await ids()).toBe('0 1 2 3')
      expect(await notApplied(rebuild, some(0, 1))).toBe('0')
      await expect(rebuild.swap()).rejects.toThrow('no longer built')
    })

    it('in place updates documents in their current version only, and shows them', async () => {
      await open.index.apply(some(0, 3))
      await open.index.apply([document({ id: '1', version: 2 }), document({ id: '2', version: 2, deleted: true })])
      const index = open.another({ refresh: 'none' })
      await index.applyAgain(some(0, 3, { keys: { b: ['new'] } }))
      await index.applyAgain([document({ id: '1', version: 2, keys: { b: ['new'] } }), document({ id: 'fresh', keys: { b: ['new'] } })])
      await index.show('Observation')
      expect(await ids(key('b', 'new'))).toBe('0 1v2 fresh')
      expect(await ids()).toBe('0 1v2 fresh')
      expect(await indices()).toEqual(['observation-v1'])
      await index.show('Patient')
    })

    it('in place also writes to the next index', async () => {
      await open.index.apply(some(0, 2))
      const rebuild = await open.index.rebuild('Observation')
      await rebuild.apply(some(0, 2))
      await open.index.applyAgain(some(0, 1, { keys: { b: ['new'] } }))
      await rebuild.swap()
      expect(await ids(key('b', 'new'))).toBe('0')
    })

    it('works for a type without an index', async () => {
      const rebuild = await open.index.rebuild('Observation')
      await rebuild.apply(some(0, 1))
      expect(await ids()).toBe('')
      await rebuild.swap()
      expect(await ids()).toBe('0')
    })

    it('is swapped once although the answer is lost', async () => {
      await open.index.apply(some(0, 2))
      const index = await through(first('/_aliases', { kind: 'drop', when: 'after' }, { kind: 'silence' }), { patience: SILENT })
      const rebuild = await index.rebuild('Observation')
      await rebuild.apply(some(0, 2, { keys: { b: ['new'] } }))
      await rebuild.swap()
      expect(await ids(key('b', 'new'))).toBe('0 1')
      expect(await indices()).toEqual(['observation-v2'])
    })
  })
})
