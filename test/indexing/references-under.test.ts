import { describe, expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { addRebuild, addReferenceRebuild, NO_DEFINITIONS } from '../../lambdas/indexing/custom-definitions.ts'
import { readRebuildSlice } from '../../lambdas/indexing/feed/rebuild-slice.ts'
import { keyRangeOf, referencePredicateOf } from '../../lambdas/indexing/references-under.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { observation, type Tree } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const [OWN, NEW] = ['http://own.example/fhir', 'http://new.example/fhir']
const READING = { baseUrl: OWN }

const ALL: readonly Tree[] = [
  observation('relative', { subject: 'Patient/p' }),
  observation('own', { subject: `${OWN}/Patient/p` }),
  observation('subject', { subject: `${NEW}/Patient/p` }),
  observation('performer', { performer: [{ reference: `${NEW}/Practitioner/d` }] }),
  observation('longer', { subject: `${NEW}er/Patient/p` }),
  { resourceType: 'Patient', id: 'p', meta: { source: `${NEW}/Patient/p` } },
]

function indexed() {
  const index = new SqliteSearchIndex(':memory:')
  runAtEnd(() => index.close())
  const versions = ALL.map((body) => versionOf(writeOf(resourceKeyOf('t', body.resourceType, body.id), { body })))
  index.applyNow(versions.map((version, i) => extract(version, ALL[i], READING)))
  index.commit()
  return { index, versions }
}

describe('A new base URL', () => {
  it('is found in the types that have a key below it', () => {
    const { index } = indexed()
    const types = (base: string) => index.typesWithKeys(keyRangeOf(base).from, keyRangeOf(base).to).map(({ type }) => type)
    expect([types(NEW).toSorted(), types('http://none.example/fhir')]).toEqual([['Observation', 'Patient'], []])
  })

  it('rebuilds only documents that refer to a URL below it', () => {
    const { index, versions } = indexed()
    const rebuilt = (type: string) => {
      const rebuild = { tenant: 't', type, done: 0, total: -1, under: [NEW] }
      const slice = readRebuildSlice(
        index,
        { rebuild },
        100,
        ({ id }) => versions.find((each) => each.id === id),
        referencePredicateOf(type, [NEW], READING),
      )
      return [slice.versions.map(({ id }) => id).toSorted(), slice.progress.rebuild.total]
    }
    expect([rebuilt('Observation'), rebuilt('Patient')]).toEqual([
      [['performer', 'subject'], 2],
      [[], 0],
    ])
  })

  it('adds nothing to a full rebuild of the type, and joins other base URLs', () => {
    const all = addRebuild(NO_DEFINITIONS, 't', ['Observation'])
    expect(addReferenceRebuild(all, 't', 'Observation', NEW)).toBe(all)
    const both = addReferenceRebuild(addReferenceRebuild(NO_DEFINITIONS, 't', 'Observation', OWN), 't', 'Observation', NEW)
    expect(both.rebuilds).toEqual([{ tenant: 't', type: 'Observation', done: 0, total: -1, under: [OWN, NEW] }])
    expect(addRebuild(both, 't', ['Observation']).rebuilds).toEqual([{ tenant: 't', type: 'Observation', done: 0, total: -1 }])
  })
})
