/** A partner with a member in context reads the data of its export: no old data, no hidden authorization, no sensitive data. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { eventually } from '../fixtures/eventually.ts'
import { memberClientOf } from './member-tokens.ts'
import { ANN, match, membersBundle, PAYER_SETTINGS, partnerTokens } from './payer-exchange.ts'

const MARK = 'hidden-from-partners'
const LABEL = { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'SUD' }
const ann = { reference: 'Patient/ann' }
const code = { coding: [{ system: 'urn:x', code: 'weight' }] }
const meta = { tag: [{ system: 'urn:x', code: MARK }] }

const DENIED = {
  url: 'http://hl7.org/fhir/us/davinci-pas/StructureDefinition/extension-reviewActionCode',
  valueCodeableConcept: { coding: [{ system: 'https://codesystem.x12.org/005010/306', code: 'A3' }] },
}

const claim = (id: string, fields: Tree): Tree => ({
  ...{
    resourceType: 'ExplanationOfBenefit',
    id,
    meta,
    status: 'active',
    use: 'claim',
    outcome: 'complete',
    patient: ann,
    created: '2026-01-01',
  },
  ...{ type: { coding: [{ system: 'urn:x', code: 'professional' }] }, insurer: { display: 'x' }, provider: { display: 'x' } },
  insurance: [{ focal: true, coverage: { reference: 'Coverage/coverage-ann' } }],
  ...fields,
})

/** Resources of the member that no payer receives. Each has the mark. */
const HIDDEN: readonly Tree[] = [
  claim('old-claim', { billablePeriod: { start: '2015-01-01', end: '2015-02-01' } }),
  claim('drug', { use: 'preauthorization', type: { coding: [{ system: 'urn:x', code: 'pharmacy' }] }, outcome: 'queued' }),
  claim('denied', { use: 'preauthorization', outcome: 'queued', extension: [DENIED] }),
  { resourceType: 'Observation', id: 'old', meta, status: 'final', code, subject: ann, effectiveDateTime: '2015-01-01' },
  { resourceType: 'Encounter', id: 'old-visit', meta, status: 'finished', class: LABEL, subject: ann, period: { end: '2015-01-01' } },
  {
    ...{ resourceType: 'DocumentReference', id: 'old-document', meta, status: 'current', subject: ann, date: '2015-01-01T00:00:00Z' },
    content: [{ attachment: { title: 'x' } }],
  },
  { resourceType: 'Observation', id: 'sensitive', meta: { ...meta, security: [LABEL] }, status: 'final', code, subject: ann },
  {
    ...{ resourceType: 'Coverage', id: 'sensitive-coverage', meta: { ...meta, security: [LABEL] }, status: 'active', beneficiary: ann },
    payor: [{ display: 'x' }],
  },
  { resourceType: 'Practitioner', id: 'sensitive-doctor', meta: { ...meta, security: [LABEL] }, name: [{ family: MARK }] },
]

/** Resource that refers to hidden ones. */
const REFERRING: Tree = {
  ...{ resourceType: 'Observation', id: 'shown', status: 'final', code, subject: ann, effectiveDateTime: new Date().toISOString() },
  ...{ hasMember: [{ reference: 'Observation/old' }], performer: [{ reference: 'Practitioner/sensitive-doctor' }] },
  ...{ derivedFrom: [{ reference: 'DocumentReference/old-document' }], encounter: { reference: 'Encounter/old-visit' } },
}

const withHidden = (proof: (clients: { readonly member: TestClient; readonly operator: SettingsServer }) => Promise<void>) =>
  withSettings({ ...PAYER_SETTINGS, FHIR_SENSITIVE_LABELS: `${LABEL.system}|${LABEL.code}` }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    for (const each of [...HIDDEN, REFERRING]) expect((await server.put(`/${each.resourceType}/${each.id}`, each)).status).toBe(201)
    const tokens = await partnerTokens(server)
    expect((await match(server.as((await tokens('system/*.rs')).access_token), ANN)).status).toBe(200)
    const member = server.as((await tokens('system/*.rs', { patient: 'ann' })).access_token)
    await proof({ member, operator: server })
  })

const TYPES = [...new Set(HIDDEN.map(({ resourceType }) => resourceType as string))]

const PATHS: readonly string[] = [
  ...HIDDEN.flatMap(({ resourceType, id }) => ['', '/_history', '/_history/1', '/$meta'].map((rest) => `/${resourceType}/${id}${rest}`)),
  ...TYPES.flatMap((type) => [
    ...[
      `/${type}`,
      `/${type}?_tag=${MARK}`,
      `/${type}/$meta`,
      `/${type}?_sort=-_lastUpdated&_count=1`,
      `/${type}?_include=*&_revinclude=*`,
    ],
    ...[`/${type}?_elements=meta`, `/${type}?_summary=true`, `/${type}/_history`],
  ]),
  ...[
    '/$meta',
    '/Patient/ann/$everything',
    '/Patient/ann/*',
    '/Patient?_revinclude=*',
    '/Observation?_id=shown&_include=*&_include:iterate=*',
  ],
  ...['/DocumentReference/$docref?patient=ann', `/?_type=${TYPES.join()}&_tag=${MARK}`, `/Patient?_has:Observation:subject:_tag=${MARK}`],
]

describe('a payer with a member in context', () => {
  it('receives no old, denied, drug or labelled resource by any interaction', () =>
    withHidden(async ({ member, operator }) => {
      const leaks = async (client: TestClient) => {
        const found: string[] = []
        for (const path of PATHS) if ((await client.get(path)).text.includes(MARK)) found.push(path)
        return found
      }
      // A self link repeats the criteria.
      const criteria = PATHS.filter((path) => path.includes(MARK))
      expect((await leaks(member)).filter((path) => !criteria.includes(path))).toEqual([])
      expect((await leaks(operator)).length).toBeGreaterThan(PATHS.length / 2)
      const entry = PATHS.map((path) => ({ request: { method: 'GET', url: path.slice(1) } }))
      const { text } = await member.post('/', { resourceType: 'Bundle', type: 'batch', entry })
      expect(text.replaceAll(`_tag=${MARK}`, '')).not.toContain(MARK)
    }))

  it('counts, sorts, groups and chains without them', () =>
    withHidden(async ({ member, operator }) => {
      const idsOf = async (client: TestClient, path: string): Promise<readonly unknown[]> => {
        const { status, body } = await client.get(path)
        return [status, body.total, (body.entry ?? []).map(({ resource }: Tree) => resource.id).sort()]
      }
      const rows: readonly (readonly [path: string, ids: readonly string[]])[] = [
        ['/ExplanationOfBenefit', ['claim-ann']],
        ['/Observation', ['shown', 'weight-ann']],
        ['/Observation?code=weight', ['shown']],
        ['/Patient/ann/Observation', ['shown', 'weight-ann']],
        ['/Coverage', ['coverage-ann']],
        ['/Practitioner', []],
        [`/Observation?_tag=${MARK}`, []],
        [`/Patient?_has:Observation:subject:_tag=${MARK}`, []],
        [`/Patient?_has:Encounter:subject:_tag=${MARK}`, []],
        ['/Patient?_has:Observation:subject:code=weight', ['ann']],
        [`/Observation?has-member:Observation._tag=${MARK}`, []],
        [`/Observation?encounter:Encounter._tag=${MARK}`, []],
      ]
      for (const [path, ids] of rows) expect([path, await idsOf(member, path)]).toEqual([path, [200, ids.length, ids]])
      expect((await operator.get('/Observation?_summary=count')).body.total).toBeGreaterThan(2)
      expect((await member.get('/Observation?_summary=count')).body.total).toBe(2)
      const { body } = await member.get('/Observation?_group=code')
      expect([body.total, JSON.stringify(body).includes('"sensitive"')]).toEqual([2, false])
    }))

  it('receives no earlier version of a resource that it does not receive', () =>
    withHidden(async ({ member, operator }) => {
      const put = async (resource: Tree) => expect((await operator.put(`/Observation/${resource.id}`, resource)).status).toBeLessThan(300)
      const open = { resourceType: 'Observation', status: 'final', code: { text: MARK }, subject: ann }
      const later: readonly (readonly [id: string, fields: Tree])[] = [
        ['labelled-later', { meta: { security: [LABEL] } }],
        ['moved', { subject: { reference: 'Patient/bert' } }],
        ['backdated', { effectiveDateTime: '2015-01-01' }],
      ]
      for (const [id] of later) await put({ ...open, id })
      await put({ ...open, id: 'deleted' })
      const paths = [...later.map(([id]) => id), 'deleted'].flatMap((id) => [
        `/Observation/${id}/_history/1`,
        `/Observation/${id}/_history`,
      ])
      for (const path of paths) expect([path, (await member.get(path)).status]).toEqual([path, 200])
      for (const [id, fields] of later) await put({ ...open, ...fields, id })
      expect((await operator.delete('/Observation/deleted')).status).toBe(204)
      for (const path of [...paths, ...later.map(([id]) => `/Observation/${id}/_history/2`)]) {
        const { status, text } = await member.get(path)
        expect([path, status, text.includes(MARK)]).toEqual([path, 404, false])
      }
    }))

  it('learns of no other target of a Provenance', () =>
    withHidden(async ({ member, operator }) => {
      const put = async (id: string, ...targets: readonly string[]) => {
        const target = targets.map((reference) => ({ reference }))
        const entity = targets.map((reference) => ({ role: 'source', what: { reference } }))
        const fields = { target, entity, recorded: '2026-01-01T00:00:00Z', agent: [{ who: { display: 'x' } }] }
        const provenance = { resourceType: 'Provenance', id, ...fields }
        expect((await operator.put(`/Provenance/${id}`, provenance)).status).toBe(201)
      }
      await put('own', 'Patient/ann', 'Observation/shown', 'Observation/old', 'Observation/sensitive', 'Observation/weight-bert')
      await put('load', 'Patient/ann', 'Patient/bert')
      await put('hidden', 'Observation/old')
      for (const id of ['load', 'hidden'])
        for (const rest of ['', '/_history', '/_history/1']) expect((await member.get(`/Provenance/${id}${rest}`)).status).toBe(404)
      const shown = [{ reference: 'Patient/ann' }, { reference: 'Observation/shown' }]
      const { target, entity } = (await member.get('/Provenance/own')).body
      expect([target, entity]).toEqual([shown, shown.map((what) => ({ role: 'source', what }))])
      expect((await member.get('/Provenance/own/_history')).body.entry[0].resource.target).toEqual(shown)
      for (const path of ['/Provenance', '/Patient/ann/Provenance', '/Patient?_revinclude=Provenance:target', '/Patient/ann/$everything']) {
        const { body } = await member.get(path)
        const found = body.entry.map(({ resource }: Tree) => resource).filter(({ resourceType }: Tree) => resourceType === 'Provenance')
        expect([path, found.map(({ id, target }: Tree) => [id, target])]).toEqual([path, [['own', shown]]])
      }
      const asked = async (query: string): Promise<readonly [string, number]> => [query, (await member.get(`/${query}`)).body.total]
      const hidden = ['Observation/old', 'Observation/sensitive', 'Observation/weight-bert', 'Patient/bert', 'Observation/nothing', 'old']
      for (const name of hidden) {
        expect(await asked(`Provenance?target=${name}`)).toEqual([`Provenance?target=${name}`, 0])
        expect(await asked(`Provenance?entity=${name}`)).toEqual([`Provenance?entity=${name}`, 0])
        const reverse = `Patient?_has:Provenance:target:target=${name}`
        expect(await asked(reverse)).toEqual([reverse, 0])
        const several = `Provenance?target=${name},Observation/shown`
        expect(await asked(several)).toEqual([several, 1])
      }
      for (const query of [
        'target=Patient/ann',
        'target=ann',
        'patient=ann',
        'target:Observation.code=weight',
        '_sort=patient',
        '_group=patient',
      ])
        expect(await asked(`Provenance?${query}`)).toEqual([`Provenance?${query}`, 1])
      expect(await asked('Provenance?entity=Observation/shown')).toEqual(['Provenance?entity=Observation/shown', 1])
      for (const query of [
        '_sort=target',
        '_group=target',
        '_sort=entity',
        'entity:missing=true',
        'target:identifier=x',
        'target:missing=true',
      ])
        expect([query, (await member.get(`/Provenance?${query}`)).status]).toEqual([query, 403])
      expect((await member.get('/Provenance?_summary=count')).body.total).toBe(1)
      // A parameter of the tenant that claims to have Patients only may read other references.
      const about = {
        ...{ resourceType: 'SearchParameter', id: 'about', url: 'http://example.org/about', name: 'About', status: 'active' },
        ...{ description: 'x', code: 'about', base: ['Provenance'], type: 'reference', target: ['Patient'] },
        expression: 'Provenance.target | Provenance.entity.what',
      }
      expect((await operator.put('/SearchParameter/about', about)).status).toBe(201)
      const search = () => operator.get('/Provenance?about=Observation/old', { prefer: 'handling=strict' })
      const { body } = await eventually(search, { until: ({ status }) => status === 200, every: 20 })
      expect([body.total, (await member.get('/Provenance?about=Observation/old')).body.total]).toEqual([2, 0])
    }))

  it.each<[what: string, scopes: readonly string[], isShown: boolean]>([
    ['it reads the member', ['system/*.rs'], true],
    ['it reads but does not search the member', ['system/Provenance.rs', 'system/Patient.r'], true],
    ['it reads no other type', ['system/Provenance.rs'], false],
  ])('reads and searches Provenances of hidden payments alike, if %s', (_, scopes, isShown) =>
    withHidden(async ({ operator }) => {
      const payment = { resourceType: 'PaymentReconciliation', id: 'payment', status: 'active', created: '2026-01-01' }
      const paid = { ...payment, paymentDate: '2026-01-01', paymentAmount: { value: 1, currency: 'USD' } }
      expect((await operator.put('/PaymentReconciliation/payment', paid)).status).toBe(201)
      const put = async (id: string, ...targets: readonly string[]) => {
        const target = targets.map((reference) => ({ reference }))
        const provenance = { resourceType: 'Provenance', id, target, recorded: '2026-01-01T00:00:00Z', agent: [{ who: { display: 'x' } }] }
        expect((await operator.put(`/Provenance/${id}`, provenance)).status).toBe(201)
      }
      await put('both', 'Patient/ann', 'PaymentReconciliation/payment')
      await put('only', 'PaymentReconciliation/payment')
      const member = await memberClientOf(operator, { id: 'payer', patient: 'ann', scopes })
      const target = [{ reference: 'Patient/ann' }]
      const { status, body } = await member.get('/Provenance/both')
      expect([status, body.target]).toEqual(isShown ? [200, target] : [404, undefined])
      expect((await member.get('/Provenance/only')).status).toBe(404)
      const searches = ['', '?patient=ann', '?_include=Provenance:target', '?_include=*', '?_sort=-recorded', '?_group=patient']
      for (const query of searches) {
        const { status, body } = await member.get(`/Provenance${query}`)
        const found = (body.entry ?? [])
          .map(({ resource }: Tree) => resource)
          .filter(({ resourceType }: Tree) => resourceType === 'Provenance')
        const shown = isShown ? [['both', target]] : []
        expect([query, status, body.total, found.map(({ id, target }: Tree) => [id, target])]).toEqual([query, 200, shown.length, shown])
        expect(JSON.stringify(body)).not.toContain('PaymentReconciliation')
      }
      for (const query of ['_summary=count', 'recorded=2026'])
        expect([query, (await member.get(`/Provenance?${query}`)).body.total]).toEqual([query, isShown ? 1 : 0])
      expect((await member.get('/Provenance?target=PaymentReconciliation/payment')).body.total).toBe(0)
      expect((await member.get('/PaymentReconciliation?_revinclude=Provenance:target')).status).toBe(403)
      const ofMember = await member.get('/Patient?_revinclude=Provenance:target')
      const mayFind = scopes.includes('system/*.rs')
      const names = ['Provenance/both', 'Provenance/only', 'PaymentReconciliation'].map((name) => ofMember.text.includes(name))
      expect([ofMember.status, ...names]).toEqual([mayFind ? 200 : 403, mayFind, false, false])
    }),
  )
})
