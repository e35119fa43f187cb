/** `_typeFilter`: searches as predicates. Their chains are resolved once, with the access of the job and without a limit. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { accessOf } from '../../../lambdas/access/access.ts'
import { ExportFault } from '../../../lambdas/export/job/export-fault.ts'
import { checkFilters, type FilterPredicates, resolveFilters, searchAccessOf } from '../../../lambdas/export/plan/type-filters.ts'
import type { Matching, Plan, Predicate } from '../../../lambdas/ports/search/plan.ts'
import type { HitPage } from '../../../lambdas/ports/search/search-index.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { matchesPredicate } from '../../../lambdas/search/evaluate.ts'
import { unrestrictedSearchAccess } from '../../../lambdas/search/query/condition.ts'
import { ExportWorld, jobOf, TEST_SEARCH_CONTEXT } from '../../fixtures/exporting.ts'
import { observation, patient, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const filtersOf = (...searches: readonly string[]) =>
  searches.map((search) => ({ type: search.split('?')[0]!, query: search.split('?')[1]! }))
const documentOf = (resource: Tree) =>
  extract(versionOf(writeOf(resourceKeyOf('t', resource.resourceType, resource.id), { body: resource })), resource, TEST_SEARCH_CONTEXT)
const ofClient = (...scopes: readonly string[]) =>
  accessOf({ scopes, isIdentified: false, isClientToken: true, patientScopesWithoutContext: 'all' })

const ALL: readonly Tree[] = [
  patient('1', { family: 'A', birthDate: '1970-01-01', generalPractitioner: [referenceTo('Practitioner/1')] }),
  patient('2', { family: 'B', birthDate: '2024-02-28', generalPractitioner: [referenceTo('Practitioner/2')] }),
  { resourceType: 'Practitioner', id: '1', name: [{ family: 'X' }] },
  { resourceType: 'Practitioner', id: '2', name: [{ family: 'Y' }] },
  observation('1', { subject: 'Patient/1', code: 'a' }),
  observation('2', { subject: 'Patient/2', code: 'b', status: 'amended' }),
  observation('3', { subject: 'Patient/9', code: 'b' }),
]

let world: ExportWorld
beforeAll(async () => {
  world = await ExportWorld.open()
  await world.save(1, ...ALL)
})

const resolve = (searches: readonly string[], access = jobOf(2).access): Promise<FilterPredicates> =>
  resolveFilters(world.index, TEST_SEARCH_CONTEXT, jobOf(2, { access, asked: { filters: filtersOf(...searches) } }))
const found = async (...searches: readonly string[]): Promise<readonly string[]> => {
  const filters = await resolve(searches)
  return ALL.filter((each) => filters[each.resourceType]?.some((where) => matchesPredicate(where, documentOf(each)))).map(
    (each) => `${each.resourceType}/${each.id}`,
  )
}

describe('A _typeFilter', () => {
  it.each<[readonly string[], readonly string[]]>([
    [['Observation?code=b'], ['Observation/2', 'Observation/3']],
    [['Observation?code=b&status=final'], ['Observation/3']],
    [
      ['Observation?code=a', 'Observation?status=amended', 'Patient?name=a'],
      ['Patient/1', 'Observation/1', 'Observation/2'],
    ],
    [['Observation?subject:Patient.name=a'], ['Observation/1']],
    [['Observation?patient.general-practitioner.name=y'], ['Observation/2']],
    [['Observation?patient.name=z'], []],
    [['Patient?_has:Observation:patient:code=b'], ['Patient/2']],
    [['Practitioner?_has:Patient:general-practitioner:_has:Observation:patient:code=a'], ['Practitioner/1']],
    [['Patient?birthdate=ap2024-02-29'], ['Patient/2']],
  ])('%j matches %j', async (searches, expected) => expect(await found(...searches)).toEqual(expected))

  it('evaluates approximate dates as of the transaction time', async () => {
    const widthAt = async (when: number): Promise<number> => {
      const asked = { filters: filtersOf('Patient?birthdate=ap2000-01-01') }
      const [where] = (await resolveFilters(world.index, TEST_SEARCH_CONTEXT, jobOf(when, { asked }))).Patient!
      if (where?.kind !== 'span') throw new Error('not an interval')
      return where.high - where.low
    }
    const later = 10 * 365 * 86_400
    expect((await widthAt(later)) - (await widthAt(0))).toBeCloseTo(2 * 0.1 * later * 1_000, -9)
  })

  it('follows chains only through resources that the client may find', async () => {
    const some = ofClient('system/Observation.rs', 'system/Patient.rs?family=B')
    const where = await resolve(['Observation?patient.name=a,b'], some)
    expect(where.Observation).toEqual([{ kind: 'key', field: 'patient', oneOf: ['Patient/2'] }])
    const none = ofClient('system/Observation.rs')
    const looking = () =>
      checkFilters(filtersOf('Observation?patient.name=a'), searchAccessOf('t', none, TEST_SEARCH_CONTEXT), TEST_SEARCH_CONTEXT)
    expect(looking).toThrow('_typeFilter looks at Patient: this needs a scope for Patient.s')
    await expect(resolve(['Observation?patient.name=a'], none)).rejects.toThrow(ExportFault)
    checkFilters(filtersOf('Observation?patient.name=a'), unrestrictedSearchAccess('t'), TEST_SEARCH_CONTEXT)
  })

  it('fails permanently if its parameter no longer exists', async () => {
    await expect(resolve(['Observation?retired=1'])).rejects.toThrow(
      'A _typeFilter of Observation cannot be used any more: Unknown search parameter retired',
    )
  })

  it('reads any number of resources in pages', async () => {
    const index = new ManyPatients(150_000)
    const job = jobOf(2, {
      asked: { filters: filtersOf('Observation?patient.general-practitioner.name=x', 'Patient?_has:Observation:patient:code=a') },
    })
    const filters = await resolveFilters(index, TEST_SEARCH_CONTEXT, job)
    const sizes = [filters.Observation, filters.Patient].map((each) => each![0]!.kind === 'key' && new Set(each![0]!.oneOf).size)
    expect(sizes).toEqual([150_000, 150_000])
    expect(index.largest).toBe(10_000)
  })

  it('fails permanently if its chains lead to more than a million resources', async () => {
    const searches = Array.from({ length: 7 }, (_, i) => `Observation?patient.name=${i}`)
    const job = jobOf(2, { asked: { filters: filtersOf(...searches) } })
    await expect(resolveFilters(new ManyPatients(150_000), TEST_SEARCH_CONTEXT, job)).rejects.toThrow('lead to more than 1000000 resources')
  })

  it('looks up the results of its chains in a set', () => {
    const oneOf = Array.from({ length: 100_000 }, (_, i) => `Patient/${i}`)
    oneOf.includes = () => {
      throw new Error('the list was gone through')
    }
    const where: Predicate = { kind: 'key', field: 'patient', oneOf }
    const subjects = ['Patient/5', 'Patient/99999', 'Patient/100000']
    expect(subjects.map((subject) => matchesPredicate(where, documentOf(observation('o', { subject }))))).toEqual([true, true, false])
  })
})

/** Index with `count` matching resources of each type. Each Patient has its own Practitioner and Observation. */
class ManyPatients {
  readonly #ids: readonly string[]
  largest = 0

  constructor(count: number) {
    this.#ids = Array.from({ length: count }, (_, i) => `${i}`)
  }

  async find({ types: [type = ''], where, limit, after }: Plan): Promise<HitPage> {
    this.#note(where)
    const keys = where.kind === 'key' && where.field === 'general-practitioner' ? where.oneOf.map((key) => key.split('/')[1]!) : undefined
    const all = keys ?? this.#ids
    const from = after === undefined ? 0 : all.indexOf(after.id) + 1
    const hits = all.slice(from, from + limit).map((id) => ({ type, id, version: 1, position: { values: [], type, id } }))
    return { hits, more: from + limit < all.length }
  }

  async distinct({ where }: Matching): Promise<readonly string[]> {
    this.#note(where)
    return where.kind === 'key' ? where.oneOf.map((id) => `Patient/${id}`) : []
  }

  #note(where: Predicate): void {
    if (where.kind === 'key') this.largest = Math.max(this.largest, where.oneOf.length)
  }
}
