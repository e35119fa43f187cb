/** Criteria mean the same in a search, in a `_typeFilter` of an export and in a granular scope. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { accessOf } from '../../../lambdas/access/access.ts'
import { ruleFor } from '../../../lambdas/access/rules.ts'
import { isDecidable } from '../../../lambdas/access/scope-conditions.ts'
import { resolveFilters } from '../../../lambdas/export/plan/type-filters.ts'
import type { Predicate } from '../../../lambdas/ports/search/plan.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { matchesPredicate } from '../../../lambdas/search/evaluate.ts'
import { resolveChains, unrestrictedSearchAccess } from '../../../lambdas/search/query/condition.ts'
import { parseParameterPairs } from '../../../lambdas/search/query/parameter-pairs.ts'
import { parseSearch } from '../../../lambdas/search/query/query.ts'
import { ExportWorld, jobOf, TEST_SEARCH_CONTEXT } from '../../fixtures/exporting.ts'
import { observation, patient, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { instantAt, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const UCUM = 'http://unitsofmeasure.org'
const mg = (value: number) => ({ value, unit: 'mg', system: UCUM, code: 'mg' })
const LAB = { coding: [{ system: 'urn:category', code: 'laboratory', display: 'Laboratory' }] }
const MRN = { type: { coding: [{ system: 'urn:types', code: 'MR' }] }, system: 'urn:mrn', value: '1' }

const ALL: readonly Tree[] = [
  patient('p1', {
    ...{ name: [{ family: 'Abel', given: ['Ann'] }], birthDate: '1970-01-01', gender: 'male', active: true, identifier: [MRN] },
    ...{
      address: [{ city: 'Ghent' }],
      telecom: [{ system: 'phone', value: '555' }],
      generalPractitioner: [referenceTo('Practitioner/d1')],
    },
    meta: {
      lastUpdated: '2024-01-01T00:00:00Z',
      tag: [{ system: 'urn:tags', code: 'x' }],
      profile: ['http://p.example/member|1'],
      source: 'urn:source:a',
    },
  }),
  patient('p2', {
    ...{ name: [{ family: 'Bell', given: ['Bo'] }], birthDate: '2024-02-28', gender: 'female', active: false },
    ...{ managingOrganization: referenceTo('Organization/o1'), generalPractitioner: [referenceTo('Practitioner/d2')] },
    meta: { security: [{ system: 'urn:labels', code: 'R' }] },
  }),
  { resourceType: 'Practitioner', id: 'd1', name: [{ family: 'X' }] },
  { resourceType: 'Practitioner', id: 'd2', name: [{ family: 'Y' }] },
  observation('ob1', { subject: 'Patient/p1', code: 'a', valueQuantity: mg(60.2), effectiveDateTime: '2020-03-01', category: [LAB] }),
  observation('ob2', { subject: 'Patient/p2', code: 'b', status: 'amended', valueQuantity: mg(5), effectiveDateTime: '2021-01-01' }),
  observation('ob3', { subject: 'Patient/9', code: 'b' }),
  { resourceType: 'Observation', id: 'ob4', status: 'final', code: { text: 'glucose' }, subject: { identifier: MRN } },
  { resourceType: 'Questionnaire', id: 'q1', url: 'http://q.example/1', version: '1', status: 'active', title: 'Sleep' },
  { resourceType: 'Questionnaire', id: 'q2', url: 'http://q.example/2', status: 'draft', title: 'Food' },
  { resourceType: 'QuestionnaireResponse', id: 'qr1', status: 'completed', questionnaire: 'http://q.example/1|1' },
  { resourceType: 'QuestionnaireResponse', id: 'qr2', status: 'amended', questionnaire: 'http://q.example/2' },
  { resourceType: 'Library', id: 'l1', url: 'http://l.example/a/1', version: '2', status: 'active', type: {} },
  { resourceType: 'Library', id: 'l2', url: 'http://l.example/b', status: 'draft', type: {} },
  { resourceType: 'PlanDefinition', id: 'pd1', status: 'active', library: ['http://l.example/a/1'] },
  { resourceType: 'PlanDefinition', id: 'pd2', status: 'draft', library: ['http://l.example/b'] },
  { resourceType: 'ActivityDefinition', id: 'ad1', status: 'active', library: ['http://l.example/b'] },
  {
    resourceType: 'RiskAssessment',
    id: 'r1',
    status: 'final',
    subject: referenceTo('Patient/p1'),
    prediction: [{ probabilityDecimal: 0.5 }],
  },
  {
    resourceType: 'RiskAssessment',
    id: 'r2',
    status: 'final',
    subject: referenceTo('Patient/p2'),
    prediction: [{ probabilityDecimal: 0.9 }],
  },
  { resourceType: 'Location', id: 'a', position: { latitude: 51, longitude: 4 } },
  { resourceType: 'Location', id: 'b', position: { latitude: 10, longitude: 10 }, partOf: referenceTo('Location/a') },
]

const DOCUMENTS = new Map(
  ALL.map((each) => [
    each,
    extract(
      versionOf(writeOf(resourceKeyOf('t', each.resourceType, each.id), { lastUpdated: instantAt(1), body: each })),
      each,
      TEST_SEARCH_CONTEXT,
    ),
  ]),
)

let world: ExportWorld
beforeAll(async () => {
  world = await ExportWorld.open()
  await world.save(1, ...ALL)
})

/** Ids of the resources of the type that meet the predicate. */
const idsThatMeet = (type: string, where: Predicate): readonly string[] =>
  ALL.filter((each) => each.resourceType === type && matchesPredicate(where, DOCUMENTS.get(each)!)).map(({ id }) => id)

async function searched(type: string, query: string): Promise<readonly string[]> {
  const { where } = parseSearch(type, parseParameterPairs(query), { ...TEST_SEARCH_CONTEXT, handling: 'strict', now: instantAt(2) })
  const predicate = await resolveChains(where, unrestrictedSearchAccess('t'), world.index)
  const { hits } = await world.index.find({
    ...{ tenant: 't', types: [type], where: predicate, access: 'everything', order: [], limit: 100, total: 'none' },
  })
  return hits.map(({ id }) => id)
}

async function exported(type: string, query: string): Promise<readonly string[]> {
  const filters = await resolveFilters(world.index, TEST_SEARCH_CONTEXT, jobOf(2, { asked: { filters: [{ type, query }] } }))
  return idsThatMeet(type, filters[type]![0]!)
}

function granted(type: string, query: string): readonly string[] {
  const scopes = [`system/${type}.rs?${query}`]
  return idsThatMeet(
    type,
    ruleFor(
      accessOf({ scopes, isIdentified: false, isClientToken: true, patientScopesWithoutContext: 'all' }),
      type,
      'r',
      TEST_SEARCH_CONTEXT,
    )!,
  )
}

/** Criteria that a resource alone can decide. */
const OWN: readonly (readonly [type: string, query: string, ids: readonly string[]])[] = [
  ['Observation', 'code=b', ['ob2', 'ob3']],
  ['Observation', 'code=a,b&status=final', ['ob1', 'ob3']],
  ['Observation', 'code:not=a', ['ob2', 'ob3', 'ob4']],
  ['Observation', 'code:text=gluc', ['ob4']],
  ['Observation', 'status=http://hl7.org/fhir/observation-status|amended', ['ob2']],
  ['Observation', 'category=urn:category|laboratory', ['ob1']],
  ['Observation', 'category=urn:category|', ['ob1']],
  ['Observation', 'category:missing=true', ['ob2', 'ob3', 'ob4']],
  ['Observation', 'date=2020', ['ob1']],
  ['Observation', 'date=ge2020-06-01', ['ob2']],
  ['Observation', 'date=ne2020', ['ob2']],
  ['Observation', 'date=sa2020&date=eb2022', ['ob2']],
  ['Observation', 'value-quantity=gt50', ['ob1']],
  ['Observation', `value-quantity=60.2|${UCUM}|mg`, ['ob1']],
  ['Observation', `value-quantity=0.0602|${UCUM}|g`, ['ob1']],
  ['Observation', 'value-quantity=5||mg', ['ob2']],
  ['Observation', `code-value-quantity=b$lt10|${UCUM}|mg`, ['ob2']],
  ['Observation', 'subject=Patient/p1', ['ob1']],
  ['Observation', 'patient=p2', ['ob2']],
  ['Observation', 'subject:Patient=p1,p2', ['ob1', 'ob2']],
  ['Observation', 'subject:identifier=urn:mrn|1', ['ob4']],
  ['Observation', '_id=ob1,ob4', ['ob1', 'ob4']],
  ['Patient', 'name=ann', ['p1']],
  ['Patient', 'family:exact=Bell', ['p2']],
  ['Patient', 'name:contains=EL', ['p1', 'p2']],
  ['Patient', 'birthdate=lt2000', ['p1']],
  ['Patient', 'gender=male,female', ['p1', 'p2']],
  ['Patient', 'gender:not=male', ['p2']],
  ['Patient', 'identifier=urn:mrn|1', ['p1']],
  ['Patient', 'identifier:of-type=urn:types|MR|1', ['p1']],
  ['Patient', 'active=false', ['p2']],
  ['Patient', 'address-city=gh', ['p1']],
  ['Patient', 'phone=555', ['p1']],
  ['Patient', 'organization=Organization/o1', ['p2']],
  ['Patient', '_tag=urn:tags|x', ['p1']],
  ['Patient', '_profile=http://p.example/member', ['p1']],
  ['Patient', '_security=urn:labels|R', ['p2']],
  ['Patient', '_source=urn:source:a', ['p1']],
  ['Patient', '_lastUpdated=gt2023', ['p1']],
  ['QuestionnaireResponse', 'questionnaire=http://q.example/1', ['qr1']],
  ['Questionnaire', 'url=http://q.example/2', ['q2']],
  ['Library', 'url:below=http://l.example/a', ['l1']],
  ['RiskAssessment', 'probability=gt0.6', ['r2']],
  ['RiskAssessment', 'probability=0.5', ['r1']],
  ['Location', 'near=51.1|4.1|50|km', ['a']],
]

/** Criteria that look at other resources, or at the present. */
const OTHER: typeof OWN = [
  ['Observation', 'patient.name=abel', ['ob1']],
  ['Observation', 'subject:Patient.birthdate=gt2000', ['ob2']],
  ['Observation', 'patient.general-practitioner.name=y', ['ob2']],
  ['Patient', '_has:Observation:patient:code=b', ['p2']],
  ['Practitioner', '_has:Patient:general-practitioner:_has:Observation:patient:code=a', ['d1']],
  ['Location', 'partof.near=51|4|1|km', ['b']],
  ['QuestionnaireResponse', 'questionnaire.status=active', ['qr1']],
  ['QuestionnaireResponse', 'questionnaire:Questionnaire.title=food', ['qr2']],
  ['Questionnaire', '_has:QuestionnaireResponse:questionnaire:status=completed', ['q1']],
  ['PlanDefinition', 'depends-on.status=active', ['pd1']],
  ['ActivityDefinition', 'depends-on.status=draft', ['ad1']],
  ['Library', '_has:PlanDefinition:depends-on:status=draft', ['l2']],
  ['Library', '_has:PlanDefinition:depends-on:depends-on.status=active', ['l1']],
  ['Patient', 'birthdate=ap1970-01-01', ['p1']],
]

describe('A criterion', () => {
  it.each(OWN)('means the same in a search, an export filter and a scope: %s?%s', async (type, query, ids) => {
    expect(isDecidable(type, query, TEST_SEARCH_CONTEXT)).toBe(true)
    const all = [await searched(type, query), await exported(type, query), granted(type, query)]
    expect(all).toEqual([ids, ids, ids])
  })

  it.each(OTHER)('means the same in a search and an export filter, and grants nothing as a scope: %s?%s', async (type, query, ids) => {
    expect([await searched(type, query), await exported(type, query)]).toEqual([ids, ids])
    expect(isDecidable(type, query, TEST_SEARCH_CONTEXT)).toBe(false)
    expect(granted(type, query)).toEqual([])
  })
})
