/** Documents of prior authorizations: the Binaries that a partner receives, and all those that it does not. */
import { describe, expect, it } from '@jest/globals'
import { partnerExportAccess } from '../../lambdas/export/plan/partner-types.ts'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { ANN, byType, exportResultOf, matchInput, membersBundle, OTHER, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const TODAY = new Date().toISOString().slice(0, 10)
const LABEL = { system: 'urn:labels', code: 'S' }

const reference = (text: string): Tree => ({ reference: text })

/** Returns a DocumentReference. `urls`: those of its attachments. */
const documentOf = (id: string, urls: readonly string[], fields: Tree = {}): Tree => ({
  ...{ resourceType: 'DocumentReference', id, status: 'current', subject: reference('Patient/ann'), date: `${TODAY}T00:00:00Z` },
  content: urls.map((url) => ({ attachment: { contentType: 'text/plain', url } })),
  ...fields,
})

const binaryOf = (id: string, fields: Tree = {}): Tree => ({
  ...{ resourceType: 'Binary', id, contentType: 'text/plain', data: 'eA==' },
  ...fields,
})

const claimOf = (id: string, documents: readonly string[], fields: Tree = {}): Tree => ({
  ...{ resourceType: 'ExplanationOfBenefit', id, status: 'active', use: 'preauthorization', created: TODAY, outcome: 'queued' },
  ...{ type: { text: 'x' }, patient: reference('Patient/ann'), insurer: { display: 'x' }, provider: { display: 'x' } },
  insurance: [{ focal: true, coverage: reference('Coverage/coverage-ann') }],
  supportingInfo: documents.map((name, i) => ({ sequence: i + 1, category: { text: 'x' }, valueReference: reference(name) })),
  ...fields,
})

const OWN = { securityContext: reference('Patient/ann') }

const RESOURCES: readonly Tree[] = [
  {
    ...{ resourceType: 'Group', id: 'panel', type: 'person', actual: true, identifier: [OTHER] },
    member: [{ entity: reference('Patient/ann') }],
  },
  { ...matchInput(ANN).parameter[2].resource, id: 'permit', patient: reference('Patient/ann') },
  // Exported: the documents of current authorizations.
  claimOf('queued', ['DocumentReference/letter', 'Binary/direct', 'DocumentReference/of-bert', 'DocumentReference/of-nobody']),
  claimOf('estimated', ['DocumentReference/plan/_history/1'], { use: 'predetermination' }),
  documentOf('letter', ['Binary/letter', 'Binary/own', 'http://elsewhere.example/fhir/Binary/elsewhere', 'Binary/missing', 'Binary/bert']),
  documentOf('plan', ['Binary/plan']),
  ...[binaryOf('letter'), binaryOf('own', OWN), binaryOf('plan')],
  // A Binary of another patient, and those that nothing or something else names.
  binaryOf('bert', { securityContext: reference('Patient/bert') }),
  ...[binaryOf('direct'), binaryOf('elsewhere'), binaryOf('unnamed')],
  documentOf('of-bert', ['Binary/of-bert'], { subject: reference('Patient/bert') }),
  documentOf('of-nobody', ['Binary/of-nobody'], { subject: undefined }),
  ...[binaryOf('of-bert'), binaryOf('of-nobody')],
  // Exported documents that no exported authorization names.
  claimOf('paid', ['DocumentReference/bill'], { use: 'claim' }),
  claimOf('drug', ['DocumentReference/drug'], { type: { coding: [{ code: 'pharmacy' }] } }),
  ...[documentOf('bill', ['Binary/bill']), documentOf('drug', ['Binary/drug']), documentOf('note', ['Binary/note'])],
  ...[binaryOf('bill'), binaryOf('drug'), binaryOf('note')],
  // Documents that are too old or sensitive, and a sensitive content.
  claimOf('withheld', ['DocumentReference/old', 'DocumentReference/sensitive', 'DocumentReference/partly']),
  documentOf('old', ['Binary/old'], { date: '2010-01-01T00:00:00Z' }),
  documentOf('sensitive', ['Binary/sensitive'], { meta: { security: [LABEL] } }),
  documentOf('partly', ['Binary/partly'], {}),
  ...[binaryOf('old'), binaryOf('sensitive'), binaryOf('partly', { meta: { security: [LABEL] } })],
]

const withDocuments = (proof: (partner: TestClient, server: SettingsServer) => Promise<void>): Promise<void> =>
  withSettings(
    { ...PAYER_SETTINGS, FHIR_SENSITIVE_LABELS: `${LABEL.system}|${LABEL.code}`, FHIR_MAX_RUNNING_EXPORTS: '50' },
    async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      for (const each of RESOURCES) {
        const { status, text } = await server.put(`/${each.resourceType}/${each.id}`, each)
        expect([each.id, status, status === 201 ? '' : text]).toEqual([each.id, 201, ''])
      }
      await proof(await partnerOf(server), server)
    },
  )

/** Returns the ids of the exported resources by type, and the messages of the file of errors. */
async function exported(partner: TestClient, parameters: Readonly<Record<string, string>> = {}) {
  const begun = await partner.get(`/Group/panel/$davinci-data-export?${new URLSearchParams(parameters)}`, {
    ...{ accept: 'application/fhir+json', prefer: 'respond-async' },
  })
  expect(begun.status).toBe(202)
  const { lines, messages } = await exportResultOf(partner, begun)
  return { lines, types: byType(lines), messages }
}

/** Returns an instant between the writes so far and the next one. */
function laterThan(server: SettingsServer): string {
  server.ahead += 2_000
  return new Date(Date.now() + server.ahead - 1_000).toISOString()
}

/** Returns the ids of the exported resources by type, without the Provenance of the transmission. Expects no message. */
async function idsOf(partner: TestClient, parameters: Readonly<Record<string, string>>) {
  const { types, messages } = await exported(partner, parameters)
  expect(messages).toEqual([])
  const { Provenance: _, ...others } = types
  return others
}

const DOCUMENTS = ['bill', 'drug', 'letter', 'note', 'partly', 'plan']

describe('an export for a partner', () => {
  it('contains the documents of its authorizations with their Binaries, and no other Binary', () =>
    withDocuments(async (partner) => {
      const { types, lines, messages } = await exported(partner)
      expect([types.DocumentReference, types.Binary, messages]).toEqual([DOCUMENTS, ['letter', 'own', 'plan'], []])
      expect(lines.find(({ resourceType, id }) => resourceType === 'Binary' && id === 'letter')).toMatchObject(binaryOf('letter'))
      expect(types.ExplanationOfBenefit).toEqual(['claim-ann', 'estimated', 'paid', 'queued', 'withheld'])
    }))

  it('contains a Binary only if the request names its type and its document is exported', () =>
    withDocuments(async (partner) => {
      const binaries: readonly (readonly [parameters: Readonly<Record<string, string>>, ids: readonly string[] | undefined])[] = [
        [{ _type: 'ExplanationOfBenefit,DocumentReference,Binary' }, ['letter', 'own', 'plan']],
        [{ _type: 'ExplanationOfBenefit,DocumentReference' }, undefined],
        [{ _type: 'ExplanationOfBenefit,Binary' }, undefined],
        [{ _type: 'DocumentReference,Binary' }, undefined],
        [{ _typeFilter: 'DocumentReference?_id=plan' }, ['plan']],
        [{ _typeFilter: 'ExplanationOfBenefit?_id=queued' }, ['letter', 'own']],
      ]
      for (const [parameters, ids] of binaries) {
        const { types, messages } = await exported(partner, parameters)
        expect([parameters, types.Binary, messages]).toEqual([parameters, ids, []])
      }
    }))

  it('contains a changed Binary although nothing that names it changed since, and no other resource', () =>
    withDocuments(async (partner, server) => {
      const since = laterThan(server)
      const binaries = RESOURCES.filter(({ resourceType }) => resourceType === 'Binary')
      for (const each of binaries) expect((await server.put(`/Binary/${each.id}`, { ...each, data: 'eQ==' })).status).toBe(200)
      // A Patient that an exported resource refers to is exported regardless of its lastUpdated.
      const all = { Binary: ['letter', 'own', 'plan'], Patient: ['ann'] }
      expect(await idsOf(partner, { _since: since })).toEqual(all)
      expect(await idsOf(partner, { _since: since, _type: 'ExplanationOfBenefit,Binary' })).toEqual({})
      expect(await idsOf(partner, { _since: since, _typeFilter: 'ExplanationOfBenefit?_id=estimated' })).toEqual({ Binary: ['plan'] })
      expect(await idsOf(partner, { _since: since, _until: laterThan(server) })).toEqual(all)
      expect(await idsOf(partner, { _since: laterThan(server) })).toEqual({})
    }))

  it('contains a changed Binary if only its document or only its authorization changed too', () =>
    withDocuments(async (partner, server) => {
      const since = laterThan(server)
      // The document of `plan` and the authorization of `letter` stay as they are.
      const url = 'http://127.0.0.1/fhir/Binary/letter'
      for (const each of [documentOf('letter', [url]), claimOf('estimated', ['DocumentReference/plan'], { use: 'predetermination' })])
        expect((await server.put(`/${each.resourceType}/${each.id}`, each)).status).toBe(200)
      for (const id of ['letter', 'plan', 'own'])
        expect((await server.put(`/Binary/${id}`, binaryOf(id, { data: 'eQ==' }))).status).toBe(200)
      expect(await idsOf(partner, { _since: since })).toEqual({
        ...{ Binary: ['letter', 'plan'], DocumentReference: ['letter'], ExplanationOfBenefit: ['estimated'], Patient: ['ann'] },
      })
      const absolute = laterThan(server)
      expect((await server.put('/Binary/letter', binaryOf('letter'))).status).toBe(200)
      expect(await idsOf(partner, { _since: absolute })).toEqual({ Binary: ['letter'] })
    }))

  it.each([
    ['few', 0],
    ['many', 20],
  ])('contains a Binary from before `_until` if its authorization changed later, among %s Patients', (_, others) =>
    withDocuments(async (partner, server) => {
      for (let i = 0; i < others; i++)
        expect((await server.put(`/Patient/other-${i}`, { resourceType: 'Patient', id: `other-${i}` })).status).toBe(201)
      const until = laterThan(server)
      for (const id of ['queued', 'letter', 'plan', 'bill']) {
        const each = RESOURCES.find((resource) => resource.id === id)!
        expect((await server.put(`/${each.resourceType}/${id}`, { ...each, language: 'en' })).status).toBe(200)
      }
      const { Binary, DocumentReference, ExplanationOfBenefit } = await idsOf(partner, { _until: until })
      expect([Binary, DocumentReference]).toEqual([
        ['letter', 'own', 'plan'],
        ['drug', 'note', 'partly'],
      ])
      expect(ExplanationOfBenefit).toEqual(['claim-ann', 'estimated', 'paid', 'withheld'])
    }),
  )

  it('contains Binaries by a scope of this type or of all types, and none of attributions', () => {
    const granted = (scope: string, type: string) =>
      partnerExportAccess([{ type: scope, letters: ['r', 's'], query: '' }], { type, view: 'provider' }, 'g').clauses.map(
        (each) => each.type,
      )
    const record = 'hl7.fhir.us.davinci-pdex#provider-download'
    expect([granted('*', record).includes('Binary'), granted('Binary', record), granted('DocumentReference', record)]).toEqual([
      ...[true, ['Binary'], ['DocumentReference']],
    ])
    expect(granted('*', 'hl7.fhir.us.davinci-atr')).not.toContain('Binary')
  })
})
