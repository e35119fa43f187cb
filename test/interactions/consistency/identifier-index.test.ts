/** Conditional interactions by identifier: rows and current versions of the store decide, and no index. */
import { describe, expect, it } from '@jest/globals'
import { identifierIndex } from '../../../lambdas/interactions/consistency/identifier-index.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import { and, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { Searches } from '../../../lambdas/ports/search/search-index.ts'
import type { IdentifierRow } from '../../../lambdas/ports/store/identifier-rows.ts'
import type { DamagedVersion, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { customMappingsOf } from '../../../lambdas/search/custom/custom-parameters.ts'
import { parseParameterPairs } from '../../../lambdas/search/query/parameter-pairs.ts'
import { parseSearch } from '../../../lambdas/search/query/query.ts'
import type { SearchContext } from '../../../lambdas/search/search-context.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { deletionOf, patientKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const NOW = 10_000_000
const HOUR = 60 * 60_000

type Given = { readonly id: string; readonly value?: string; readonly family?: string; readonly written?: number; readonly rowOf?: string }

const personOf = ({ id, value, family = 'x' }: Given): ResourceVersion =>
  versionOf(
    writeOf(patientKeyOf(id), {
      body: { resourceType: 'Patient', id, name: [{ family }], ...(value && { identifier: [{ system: 'urn:a', value }] }) },
    }),
  )

/** `given`: resources, each with the row of its value or of `rowOf`. */
function world(given: readonly (Given | ResourceVersion | DamagedVersion)[], reading: SearchContext = {}) {
  const heads = new Map<string, ResourceVersion | DamagedVersion>()
  let rows: (IdentifierRow & { readonly value: string })[] = []
  const [forgotten, reported, others]: [string[], unknown[], Plan[]] = [[], [], []]
  for (const each of given) {
    const { id, value, rowOf = value, written = NOW - 2 * HOUR } = each as Given
    if ('versionId' in each) heads.set(id, each)
    else if (value !== '' || rowOf === undefined) heads.set(id, personOf(each))
    rows.push({ key: patientKeyOf(id), criterion: { value: '' }, written, row: id, value: rowOf ?? '1' })
  }
  let [now, read] = [NOW, 0]
  let hasRows = true
  let failure: Error | undefined
  let beforeHeads: (() => void) | undefined
  const write = (each: Given): void => {
    heads.set(each.id, personOf(each))
    rows.push({ key: patientKeyOf(each.id), criterion: { value: '' }, written: now, row: `${each.id} ${each.value}`, value: each.value! })
  }
  const index = identifierIndex({
    index: {
      find: async (plan: Plan) => {
        others.push(plan)
        return { hits: [], more: false }
      },
    } as unknown as Searches,
    rows: {
      async carrying(_scope, criteria, most) {
        const found = criteria.flatMap((criterion) =>
          rows.filter(({ value }) => value === criterion.value).map((row) => ({ ...row, criterion })),
        )
        return found.slice(0, most + 1)
      },
      async forget(some) {
        if (failure !== undefined) throw failure
        forgotten.push(...some.map(({ row }) => row))
        rows = rows.filter(({ row }) => !forgotten.includes(row))
      },
    },
    resources: {
      heads: async (keys) => {
        read += keys.length
        beforeHeads?.()
        beforeHeads = undefined
        return keys.map(({ id }) => heads.get(id))
      },
    },
    clock: { now: () => now, newId: () => 'id' },
    expressions: EXPRESSIONS,
    reading: () => reading,
    haveRows: async () => hasRows,
    report: (error) => reported.push(error),
  })
  const find = async (query: string, more: Partial<Plan> = {}) => {
    const { where } = parseSearch('Patient', parseParameterPairs(query), { handling: 'strict', ...reading })
    const base = {
      tenant: 't',
      types: ['Patient'],
      where: and(...(where as readonly Predicate[])),
      access: 'everything',
      order: [],
    } as const
    const { hits, more: isMore, isCurrent } = await index.find({ ...base, limit: 2, total: 'none', ...more })
    return [...hits.map(({ id, version }) => `${id}/${version}`), ...(isMore ? ['…'] : []), ...(isCurrent ? [] : ['by index'])]
  }
  return {
    find,
    forgotten,
    reported,
    others,
    /** Lets time pass, and returns the number of versions read since the last call. */
    pass: (time: number) => {
      now += time
      const before = read
      read = 0
      return before
    },
    withoutRows: () => {
      hasRows = false
    },
    /** A transaction that commits after the next search has read the rows. */
    moving: (...writes: readonly Given[]) => {
      beforeHeads = () => writes.forEach(write)
    },
    failing: (error: Error) => {
      failure = error
    },
  }
}

describe('A conditional search by identifier', () => {
  it('finds the resources with the value, by the whole plan, and asks no index', async () => {
    const { find, others } = world([
      { id: 'p', value: '1', family: 'Adams' },
      { id: 'q', value: '1', family: 'Baker' },
      { id: 'r', value: '2' },
    ])
    expect(await find('identifier=urn:a|1')).toEqual(['p/1', 'q/1'])
    expect(await find('identifier=1&family=baker')).toEqual(['q/1'])
    expect(await find('identifier=urn:a|1,2', { limit: 2 })).toEqual(['p/1', 'q/1', '…'])
    expect(await find('identifier=urn:b|1')).toEqual([])
    expect(await find('identifier=3')).toEqual([])
    expect(others).toEqual([])
  })

  it('hides resources that the caller may not see', async () => {
    const { find } = world([
      { id: 'p', value: '1' },
      { id: 'q', value: '1' },
    ])
    expect(await find('identifier=1', { access: { Patient: { kind: 'key', field: '_id:code', oneOf: ['q'] } } })).toEqual(['q/1'])
  })

  it.each([
    ['names no exact identifier', 'family=x', {}],
    ['has a modifier', 'identifier:not=1', {}],
    ['is of several types', 'identifier=1', { types: ['Patient', 'Person'] }],
    ['has keys of a chain', 'identifier=1', { isChained: true as const }],
    ['continues another', 'identifier=1', { after: { values: [], type: 'Patient', id: 'a' } }],
  ])('uses the index if it %s', async (_, query, plan) => {
    const { find, others } = world([{ id: 'p', value: '1' }])
    expect([await find(query, plan), others.length]).toEqual([['by index'], 1])
  })

  it('uses the index if rows may be missing, if there are over a thousand, or if a version is damaged', async () => {
    const incomplete = world([{ id: 'p', value: '1' }])
    incomplete.withoutRows()
    expect(await incomplete.find('identifier=1')).toEqual(['by index'])
    const many = (count: number) => world([...Array(count).keys()].map((n) => ({ id: `p${n}`, value: '1' })))
    expect(await many(1_000).find('identifier=1')).toEqual(['p0/1', 'p1/1', '…'])
    expect(await many(1_001).find('identifier=1')).toEqual(['by index'])
    const damage = new MachineFault('store-damaged', 'a body is gone')
    expect(await world([{ ...patientKeyOf('p'), versionId: 1, deleted: false, damage }]).find('identifier=1')).toEqual(['by index'])
  })

  it('removes rows over an hour old if the resource lacks the value or is missing', async () => {
    const old = NOW - HOUR - 1
    const { find, forgotten } = world([
      { id: 'kept', value: '1', written: old },
      { id: 'changed', value: '2', rowOf: '1', written: old },
      { id: 'recent', value: '2', rowOf: '1', written: NOW - HOUR },
      { id: 'missing', value: '', rowOf: '1', written: old },
      versionOf(deletionOf(patientKeyOf('deleted'), { expected: 1 })),
    ])
    expect(await find('identifier=urn:a|1')).toEqual(['kept/1'])
    expect(forgotten.toSorted()).toEqual(['changed', 'deleted', 'missing'])
  })

  it('removes some of over a thousand rows, until the index is not needed', async () => {
    const [rows, ofOthers] = [1_100, 100]
    const { find, forgotten, pass } = world(
      [...Array(rows).keys()].map((n) => ({ id: `p${n}`, value: n % (rows / ofOthers) === 0 ? '2' : '1', rowOf: '1' })),
    )
    let searches = 0
    for (pass(0); (await find('identifier=1')).includes('by index'); searches++) expect(pass(3_271)).toBe(20)
    expect([searches, forgotten.length]).toEqual([expect.any(Number), ofOthers])
    expect(searches).toBeLessThan(200)
  })

  it('finds the resource to which a transaction moves the identifier meanwhile', async () => {
    const { find, moving, others } = world([{ id: 'p', value: '1' }])
    moving({ id: 'p', value: '2' }, { id: 'q', value: '1' })
    expect(await find('identifier=1')).toEqual(['q/1'])
    moving({ id: 'q', value: '2' })
    expect([await find('identifier=1'), others]).toEqual([[], []])
  })

  it('uses the index if some of over a thousand rows cannot be checked', async () => {
    const { find, failing, reported } = world([...Array(1_001).keys()].map((n) => ({ id: `p${n}`, value: '2', rowOf: '1' })))
    failing(new Error('refused'))
    expect([await find('identifier=1'), reported]).toEqual([['by index'], [new Error('refused')]])
  })

  it('reports a row that it cannot remove, and answers', async () => {
    const { find, failing, reported } = world([{ id: 'p', value: '2', rowOf: '1' }])
    failing(new Error('refused'))
    expect([await find('identifier=1'), reported]).toEqual([[], [new Error('refused')]])
  })

  it('fails if it uses a custom parameter without values of a resource with the identifier', async () => {
    const definition = {
      resourceType: 'SearchParameter', id: 'own', url: 'own', status: 'active', code: 'own', base: ['Patient'], type: 'string',
      expression: 'Patient.repeat(identifier).value.where($this is string).single()',
    } // biome-ignore format: one resource
    const twice = versionOf(
      writeOf(patientKeyOf('p'), { body: { resourceType: 'Patient', id: 'p', identifier: [{ value: '1' }, { value: '2' }] } }),
    )
    const { find } = world([twice], { custom: customMappingsOf(definition, 't') })
    await expect(find('identifier=1&own=x')).rejects.toThrow('The parameter own has no values of some Patient resources')
    expect(await find('identifier=1')).toEqual(['p/1'])
  })
})
