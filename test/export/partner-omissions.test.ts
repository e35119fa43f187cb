/** Exports for partners: nothing in their files names a resource that the partner may not receive. */
import { describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import type { JobScope } from '../../lambdas/export/plan/job-scope.ts'
import { partnerExportAccess } from '../../lambdas/export/plan/partner-types.ts'
import { type Selection, selectReferencedVersions, selectVersions } from '../../lambdas/export/select/selection.ts'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import { readDisclosures } from '../../lambdas/partners/disclosures/disclosures.ts'
import { customMappingsOf } from '../../lambdas/search/custom/custom-parameters.ts'
import { collect } from '../fixtures/collect.ts'
import { ExportWorld, jobOf, TEST_SEARCH_CONTEXT } from '../fixtures/exporting.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo, type Tree } from '../fixtures/resources.ts'
import { instantAt, resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'

/** The window of providers begins on 2016-01-01. */
const [BEFORE, WITHIN] = ['2015-12-31', '2020-01-01']
const FOR_PROVIDER: Job['partner'] = { type: 'hl7.fhir.us.davinci-pdex#provider-download', view: 'provider' }

const dated = (id: string, effectiveDateTime: string, fields: Tree = {}): Tree => ({
  ...observation(id, { subject: 'Patient/ann' }),
  ...{ effectiveDateTime, ...fields },
})

const provenance = (id: string, ...targets: readonly string[]): Tree => ({
  ...{ resourceType: 'Provenance', id, recorded: '2020-01-01T00:00:00Z', agent: [{ who: { display: 'Payer' } }] },
  target: targets.map(referenceTo),
})

const GROUP: Tree = { resourceType: 'Group', id: 'g', type: 'person', actual: true, member: [{ entity: referenceTo('Patient/ann') }] }

/** Denies the access of providers for one member. */
const OPT_OUT: Tree = {
  ...{ resourceType: 'Consent', id: 'opt-out', status: 'active', patient: referenceTo('Patient/bert'), provision: { type: 'deny' } },
  scope: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/consentscope', code: 'patient-privacy' }] },
  category: [{ coding: [{ system: 'http://hl7.org/fhir/us/davinci-pdex/CodeSystem/pdex-consent-api-purpose', code: 'provider-access' }] }],
}

/** Fails on each resource with two notes. */
const NOTE = customMappingsOf(
  {
    ...{ resourceType: 'SearchParameter', id: 'remark', status: 'active', code: 'remark', type: 'string', base: ['Observation'] },
    expression: "Observation.note.text + 'x'",
  },
  't',
).map((each) => ({ ...each, values: [], interpreted: true as const }))

async function exported(world: ExportWorld, fields: Parameters<typeof jobOf>[1] = {}) {
  const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index }
  const parts = exportPartsOf(stores)
  const job = jobOf(5, { id: 'j', level: 'group', group: 'g', partner: FOR_PROVIDER!, ...fields })
  await kickOff(parts, job)
  await runExportJob(parts, job)
  const lines = await readFileLines(parts.blobs, await readJob(parts, 'j'))
  return Object.fromEntries(Object.entries(lines).map(([type, each]) => [type, each.map((line) => JSON.parse(line) as Tree)]))
}

const idsOf = (lines: readonly Tree[] = []): readonly string[] => lines.map(({ id }) => id).toSorted()

describe('an export for a partner', () => {
  it('has no Provenance without an exported target, and names no other', async () => {
    const world = await ExportWorld.open()
    await world.save(1, patient('ann'), patient('bert'), GROUP, dated('old', BEFORE), dated('new', WITHIN))
    await world.save(1, observation('of-bert', { subject: 'Patient/bert' }), { resourceType: 'Organization', id: 'payer' })
    await world.save(
      1,
      provenance('all', 'Observation/new', 'Patient/ann'),
      provenance('none', 'Observation/old'),
      provenance('no-type', 'Claim/1', 'Observation/old'),
      provenance(
        'some',
        'Observation/old',
        'Observation/new',
        'Observation/of-bert',
        'Claim/1',
        'Organization/payer',
        'Observation/missing',
      ),
      provenance('old-of-ann', 'Patient/ann', 'Observation/old'),
    )
    const { Observation, Provenance = [] } = await exported(world)
    const targets = Provenance.filter(({ id }) => id.length < 20).map(({ id, target }) => [
      id,
      ...target.map((each: Tree) => each.reference),
    ])
    expect([idsOf(Observation), targets.toSorted()]).toEqual([
      ['new'],
      [
        ['all', 'Observation/new', 'Patient/ann'],
        ['old-of-ann', 'Patient/ann'],
        ['some', 'Observation/new', 'Organization/payer', 'Observation/missing'],
      ],
    ])
  })

  it('has no Provenance if it has no other resource', async () => {
    const world = await ExportWorld.open()
    await world.save(1, patient('ann'), GROUP)
    expect(await exported(world, { asked: { until: instantAt(0) } })).toEqual({})
    const [{ patient: member, outcome, types } = {}] = await collect(readDisclosures(world.blobs, {}))
    expect([member, outcome, types]).toEqual(['Patient/ann', 'exported', {}])
  })

  it('names no resource in a Provenance that the partner does not receive', async () => {
    const world = await ExportWorld.open()
    await world.save(1, patient('ann'), patient('bert'), GROUP, dated('new', WITHIN), dated('gone', WITHIN), dated('old', BEFORE))
    const medication = { resourceType: 'MedicationAdministration', id: 'of-bert', subject: referenceTo('Patient/bert') }
    const binary = { resourceType: 'Binary', id: 'any', contentType: 'text/plain', data: 'eA==' }
    const remittance = { resourceType: 'PaymentReconciliation', id: 'paid', status: 'active' }
    await world.save(1, observation('of-bert', { subject: 'Patient/bert' }), medication, binary, remittance, OPT_OUT)
    await world.save(1, provenance('of-bert', 'Observation/of-bert'), { resourceType: 'Organization', id: 'payer' })
    const hidden = [
      ...['PaymentReconciliation/paid', 'MedicationAdministration/of-bert', 'Binary/any', 'Consent/opt-out', 'Observation/old'],
      ...['Observation/of-bert', 'Provenance/of-bert'],
    ]
    const entityOf = (name: string): Tree => ({ role: 'source', what: { reference: name, display: `about ${name}` } })
    const elsewhere = { role: 'source', what: { reference: 'http://elsewhere.example/fhir/Observation/1' } }
    const sources = ['Observation/new', 'Observation/gone', 'Organization/payer', 'Observation/missing'].map(entityOf)
    const text = { status: 'generated', div: '<div>PaymentReconciliation/paid</div>' }
    const whole = { ...provenance('whole', 'Observation/new'), text, entity: sources }
    const contained = [{ resourceType: 'Organization', id: 'bank' }]
    const agent = [{ who: referenceTo('#bank') }]
    await world.save(1, whole, { ...provenance('cut', 'Observation/new', ...hidden), text, entity: [elsewhere, ...hidden.map(entityOf)] })
    await world.save(1, {
      ...{ ...provenance('source', 'Observation/new'), contained },
      entity: [{ ...entityOf('PaymentReconciliation/paid'), agent }, entityOf('Patient/bert')],
    })
    await world.remove(2, 'Observation/gone')
    // The request names no type of a target. A Provenance still names the targets that the partner may receive.
    const access = partnerExportAccess(WHOLE_ACCESS.clauses, FOR_PROVIDER!, 'g')
    const { Provenance = [] } = await exported(world, { access, groupAccess: WHOLE_ACCESS, asked: { types: ['Patient', 'Provenance'] } })
    expect(Provenance.filter(({ id }) => id.length < 20).toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { ...provenance('cut', 'Observation/new'), entity: [elsewhere] },
      provenance('source', 'Observation/new'),
      whole,
    ])
  })

  it.each([
    ['Patient/ann', ['of-ann']],
    ['Patient/bert', []],
    ['Patient/stranger', []],
    ['Patient/ann,Patient/bert', ['of-ann']],
  ])('has only Provenances of its Patients by the filter patient=%s', async (name, ids) => {
    const world = await ExportWorld.open()
    await world.save(1, patient('ann'), patient('bert'), GROUP, dated('new', WITHIN), OPT_OUT)
    await world.save(1, provenance('of-ann', 'Patient/ann'), provenance('of-bert', 'Patient/bert'), provenance('other', 'Observation/new'))
    await world.save(1, provenance('of-both', 'Patient/ann', 'Patient/bert'))
    const { Provenance = [] } = await exported(world, { asked: { filters: [{ type: 'Provenance', query: `patient=${name}` }] } })
    expect(Provenance.filter(({ id }) => id.length < 20).map(({ id }) => id)).toEqual(ids)
  })

  it('names no target in a Provenance that the scopes of the token do not cover', async () => {
    const world = await ExportWorld.open()
    await world.save(1, patient('ann'), GROUP, dated('new', WITHIN), provenance('of-ann', 'Patient/ann', 'Observation/new'))
    const clauses = WHOLE_ACCESS.clauses.flatMap((clause) => ['Patient', 'Provenance'].map((type) => ({ ...clause, type })))
    const { Provenance = [] } = await exported(world, {
      access: partnerExportAccess(clauses, FOR_PROVIDER!, 'g'),
      groupAccess: WHOLE_ACCESS,
    })
    expect(Provenance.filter(({ id }) => id.length < 20)).toEqual([provenance('of-ann', 'Patient/ann')])
  })

  it('lists only permitted members of the Group', async () => {
    const world = await ExportWorld.open()
    const contained = ['ann', 'bert'].map((id) => ({ resourceType: 'Patient', id: `sent-${id}` }))
    const matched = (id: string): Tree => ({
      entity: referenceTo(`Patient/${id}`),
      extension: [{ url: 'urn:x', valueReference: referenceTo(`#sent-${id}`) }],
    })
    const narrative = { text: { status: 'generated', div: '<div>Bert</div>' }, quantity: 3 }
    const member = [...['ann', 'bert'].map(matched), { entity: { display: 'Bert' } }]
    await world.save(1, patient('ann'), patient('bert'), { ...GROUP, ...narrative, contained, member }, OPT_OUT)
    const partner = { type: 'hl7.fhir.us.davinci-atr', view: 'provider' } as const
    const { Group, Patient } = await exported(world, { partner })
    expect([Group, idsOf(Patient)]).toEqual([[{ ...GROUP, contained: [contained[0]], member: [matched('ann')] }], ['ann']])
  })

  it('names only deletions of resources that the partner could receive before', async () => {
    const world = await ExportWorld.open()
    await world.save(1, patient('ann'), GROUP, dated('old', BEFORE), dated('new', WITHIN), dated('kept', WITHIN))
    await world.remove(3, 'Observation/old', 'Observation/new')
    const { deleted = [] } = await exported(world, { asked: { since: instantAt(2) } })
    expect(deleted.flatMap(({ entry }) => entry.map(({ request }: Tree) => request.url))).toEqual(['Observation/new'])
  })

  it('reports no resource that it leaves out if a filter fails on it', async () => {
    const note = [{ text: 'a' }, { text: 'b' }]
    const versions = [dated('old', BEFORE, { note }), dated('new', WITHIN, { note })].map((body) =>
      versionOf(
        writeOf(resourceKeyOf('t', 'Observation', body.id), { body, lastUpdated: instantAt(1), compartments: compartmentsOf(body) }),
      ),
    )
    const reading = { ...TEST_SEARCH_CONTEXT, custom: NOTE }
    const jobScope: JobScope = {
      ...{ patients: new Set(['Patient/ann']), added: new Set(), told: [], isLookedUp: false, custom: NOTE, filterParameters: NOTE },
      filters: new Map([['Observation', { kind: 'key', field: NOTE[0]!.field, oneOf: ['a'] }]]),
      limits: { windowStart: Date.parse('2016-01-01'), restricted: new Set(), excluded: new Set() },
    }
    const selection: Selection = {
      job: jobOf(5, { level: 'group', partner: FOR_PROVIDER! }),
      types: new Set(['Observation']),
      jobScope,
      judge: { access: WHOLE_ACCESS, reading, expressions: () => EXPRESSIONS, current: async () => undefined },
      ownership: {
        ...{ bases: reading, levelTypes: new Set(['Observation']), isForPartner: true },
        before: async () => undefined,
        asOf: async () => [],
      },
    }
    const leftOut: string[] = []
    const leaveOut = ({ id }: { readonly id: string }, reason: string) => void leftOut.push(`${id} ${reason}`)
    expect([await selectVersions(selection, versions, leaveOut), leftOut]).toEqual([[], ['new undecided']])
    // References bring a partner no data of members, so they report nothing either.
    expect([await selectReferencedVersions(selection, versions, [], leaveOut), leftOut]).toEqual([[], ['new undecided']])
  })
})
