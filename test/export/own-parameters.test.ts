/** Exports with custom search parameters: one definition from the plan to the end. Undecided resources are reported. */
import { describe, expect, it } from '@jest/globals'
import { accessOf, WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import { evaluatePartially } from '../../lambdas/export/plan/partial-evaluation.ts'
import type { Predicate } from '../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { customMappingsOf } from '../../lambdas/search/custom/custom-parameters.ts'
import type { CustomMapping } from '../../lambdas/search/custom-mapping.ts'
import { ExportWorld, jobOf, TEST_SEARCH_CONTEXT } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient } from '../fixtures/resources.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'

const parameter = (code: string, expression: string) =>
  customMappingsOf(
    { resourceType: 'SearchParameter', id: code, status: 'active', code, type: 'string', base: ['Patient'], expression },
    't',
  )

/** An interpreted expression. It fails on patients with more than one given name. */
const ONLY = parameter('only', "Patient.name.given + 'x'").map((each) => ({ ...each, values: [], interpreted: true as const }))
const FIRST = parameter('first', 'Patient.name.given.first()')
const named = (id: string, ...given: readonly string[]) => patient(id, { name: [{ given }] })

/** `readings`: custom parameters that each reading of the search context returns, in order. */
async function exported(job: Job, ...readings: readonly (readonly CustomMapping[])[]) {
  const world = await ExportWorld.open()
  await world.save(1, named('ann', 'Ann'), named('bob', 'Bob'), named('two', 'Ann', 'Bob'), patient('nobody'))
  await world.save(1, observation('of-two', { subject: 'Patient/two' }))
  let read = 0
  const readingOf = async () => ({ ...TEST_SEARCH_CONTEXT, custom: readings[Math.min(read++, readings.length - 1)]! })
  const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index }
  const parts = exportPartsOf(stores, { readingOf })
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const done = await readJob(parts, job.id)
  const { Patient = [], error = [] } = await readFileLines(parts.blobs, done)
  return {
    ids: Patient.map((line) => JSON.parse(line).id).toSorted(),
    told: error.map((line) => JSON.parse(line).issue[0].details.text),
  }
}

const filtered = (...queries: readonly string[]) =>
  jobOf(5, { level: 'system', asked: { types: ['Patient'], filters: queries.map((query) => ({ type: 'Patient', query })) } })
const TWO = 'Patient/two may be missing: a search parameter that a _typeFilter looks at fails on it, or takes too long'

describe('A _typeFilter with a parameter that fails on a resource', () => {
  it.each([
    ['only=Ann', ['ann'], [TWO]],
    ['only:missing=true', ['nobody'], [TWO]],
    ['only=Ann&_id=ann,bob', ['ann'], []],
    ['first=Ann', ['ann', 'two'], []],
  ])('%s exports the others, and reports that resource if the result depends on it', async (query, ids, told) => {
    expect(await exported(filtered(query), [...ONLY, ...FIRST])).toEqual({ ids, told })
  })

  it('reports that resource once, and omits it, if another resource refers to it', async () => {
    const { asked } = filtered('only=Ann')
    const job = jobOf(5, { level: 'patient', asked: { ...asked, types: ['Observation', 'Patient'] } })
    expect(await exported(job, ONLY)).toEqual({ ids: ['ann'], told: [TWO] })
  })

  it('reports nothing if another filter matches the resource', async () => {
    expect(await exported(filtered('only=Bob', '_id=two'), ONLY)).toEqual({ ids: ['bob', 'two'], told: [] })
  })
})

describe('A parameter that is changed or deleted during an export', () => {
  const scoped = (query: string) =>
    jobOf(5, {
      level: 'system',
      access: accessOf({
        scopes: [`system/Patient.rs?${query}`],
        isIdentified: true,
        isClientToken: true,
        patientScopesWithoutContext: 'all',
      }),
      asked: { types: ['Patient'] },
    })

  it.each([
    ['a filter', filtered('first=Ann')],
    ['a scope', scoped('first=Ann')],
  ])('keeps its first definition for %s', async (_, job) => {
    for (const later of [[], parameter('first', 'Patient.name.given.last()')])
      expect(await exported(job, FIRST, later)).toEqual({ ids: ['ann', 'two'], told: [] })
  })

  it('denies access if it is missing when the export is planned', async () => {
    expect(await exported(scoped('first=Ann'), [], FIRST)).toEqual({ ids: [], told: [] })
    expect(await exported({ ...scoped('first=Ann'), access: WHOLE_ACCESS }, [], FIRST)).toMatchObject({ ids: { length: 4 } })
  })
})

describe('Partial evaluation of a predicate', () => {
  const document = { keys: { a: ['1'], 'f:code': [] }, present: [] } as unknown as IndexDocument
  const [yes, no, open] = [
    { kind: 'key', field: 'a', oneOf: ['1'] },
    { kind: 'key', field: 'a', oneOf: ['2'] },
    { kind: 'key', field: 'f:code', oneOf: ['1'] },
  ] as const satisfies readonly Predicate[]
  it.each<[Predicate, boolean | undefined]>([
    [yes, true],
    [open, undefined],
    [{ kind: 'not', of: open }, undefined],
    [{ kind: 'not', of: no }, true],
    [{ kind: 'all', of: [open, no] }, false],
    [{ kind: 'all', of: [yes, open] }, undefined],
    [{ kind: 'all', of: [yes, yes] }, true],
    [{ kind: 'some', of: [open, yes] }, true],
    [{ kind: 'some', of: [open, no] }, undefined],
    [{ kind: 'some', of: [no, no] }, false],
    [{ kind: 'present', field: 'f' }, undefined],
  ])('returns for %j: %p', (where, expected) => expect(evaluatePartially(where, document, ['f'])).toBe(expected))
})
