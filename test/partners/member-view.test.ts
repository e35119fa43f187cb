/** A partner with a member in context reads the data of that member under its view. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { eventually } from '../fixtures/eventually.ts'
import { memberClientOf } from './member-tokens.ts'
import { amountsOf, CLAIM_UNDER_VIEW, coverageOf, membersBundle, OTHER, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const withMember = (proof: (member: TestClient, server: SettingsServer) => Promise<void>, scopes?: readonly string[]): Promise<void> =>
  withSettings(PAYER_SETTINGS, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    await partnerOf(server)
    await proof(await memberClientOf(server, { id: 'payer', patient: 'ann', ...(scopes === undefined ? {} : { scopes }) }), server)
  })

/** Expects the claim of the member as CARIN shows it without amounts. */
function expectShown(claim: Tree): void {
  expect({ ...claim, meta: undefined, patient: undefined, id: undefined }).toEqual({
    ...{ ...CLAIM_UNDER_VIEW, meta: undefined, patient: undefined, id: undefined },
  })
  expect(claim.meta.tag).toEqual([expect.objectContaining({ code: 'SUBSETTED' })])
  expect(amountsOf(claim)).toEqual([])
}

describe('a partner with a member in context', () => {
  it.each(['/ExplanationOfBenefit/claim-ann', '/ExplanationOfBenefit/claim-ann/_history/1'])('reads %s without amounts', (path) =>
    withMember(async (member) => {
      const { status, body, headers } = await member.get(path)
      expect([status, headers.get('etag')]).toEqual([200, 'W/"1"'])
      expectShown(body)
    }),
  )

  it.each([
    '/ExplanationOfBenefit/claim-ann/_history',
    '/ExplanationOfBenefit',
    '/ExplanationOfBenefit?status=active&_sort=-created',
    '/ExplanationOfBenefit?patient=ann',
    '/Patient/ann/ExplanationOfBenefit',
    '/Patient?_revinclude=ExplanationOfBenefit:patient',
    '/Patient/ann/$everything',
  ])('receives %s without amounts', (path) =>
    withMember(async (member) => {
      const { status, body } = await member.get(path)
      expect(status).toBe(200)
      const claims = body.entry
        .map(({ resource }: Tree) => resource)
        .filter(({ resourceType }: Tree) => resourceType === 'ExplanationOfBenefit')
      expect(claims.map(({ id }: Tree) => id)).toEqual(['claim-ann'])
      expectShown(claims[0])
    }),
  )

  it('sees no other member, and no type that partners do not receive', () =>
    withMember(async (member, server) => {
      for (const resourceType of ['Claim', 'Consent', 'List', 'Basic', 'AuditEvent', 'Binary'])
        expect([resourceType, (await member.get(`/${resourceType}`)).status]).toEqual([resourceType, 403])
      expect((await server.get('/Patient/bert')).status).toBe(200)
      for (const path of ['/Patient/bert', '/ExplanationOfBenefit/claim-bert', '/Observation/weight-bert'])
        expect([path, (await member.get(path)).status]).toEqual([path, 404])
      expect((await member.get('/Patient')).body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['ann'])
    }))

  it.each(['/Patient/$export', '/$export', '/Group/own/$export'])('starts no %s, which has no view', (path) =>
    withMember(async (member, server) => {
      const group = { resourceType: 'Group', id: 'own', type: 'person', actual: true, identifier: [OTHER] }
      expect((await server.put('/Group/own', { ...group, member: [{ entity: { reference: 'Patient/ann' } }] })).status).toBe(201)
      const { status, body } = await member.get(path, { accept: 'application/fhir+json', prefer: 'respond-async' })
      expect([status, body?.issue[0].details.text]).toEqual([403, expect.stringContaining('$davinci-data-export')])
    }),
  )

  it('sees no data about another member in which its member takes part', () =>
    withMember(async (member, server) => {
      const [ann, bert] = ['ann', 'bert'].map((id) => ({ reference: `Patient/${id}` }))
      const others = [
        { resourceType: 'Observation', id: 'of-bert', status: 'final', code: { text: 'x' }, subject: bert, performer: [ann] },
        { ...coverageOf('W-0009', 'Patient/bert'), id: 'of-bert', subscriber: ann },
      ]
      for (const each of others) {
        expect((await server.put(`/${each.resourceType}/of-bert`, each)).status).toBe(201)
        expect([each.resourceType, (await member.get(`/${each.resourceType}/of-bert`)).status]).toEqual([each.resourceType, 404])
      }
      for (const path of ['/Observation', '/Coverage', '/Patient/ann/Observation', '/Patient/ann/$everything'])
        expect((await member.get(path)).body.entry.map(({ resource }: Tree) => resource.id)).not.toContain('of-bert')
    }))

  it('writes nothing', () =>
    withMember(async (member) => {
      const { body } = await member.get('/ExplanationOfBenefit/claim-ann')
      expect((await member.put('/ExplanationOfBenefit/claim-ann', body)).status).toBe(403)
      expect((await member.post('/Observation', { resourceType: 'Observation' })).status).toBe(403)
      expect((await member.delete('/Coverage/coverage-ann')).status).toBe(403)
    }))

  it.each([
    ['/ExplanationOfBenefit?_profile=http://example.org/a', '_profile of ExplanationOfBenefit'],
    ['/ExplanationOfBenefit?_sort=_profile', '_profile of ExplanationOfBenefit'],
    ['/ExplanationOfBenefit?_profile:missing=true', '_profile of ExplanationOfBenefit'],
    ['/?_profile=http://example.org/a', '_profile of ExplanationOfBenefit'],
    ['/Patient?_has:ExplanationOfBenefit:patient:_profile=http://example.org/a', '_profile of ExplanationOfBenefit'],
  ])('does not search %s', (path, text) =>
    withMember(async (member) => {
      const { status, body } = await member.get(path)
      expect([status, body.issue?.[0].code, body.issue?.[0].details?.text]).toEqual([403, 'forbidden', expect.stringContaining(text)])
    }),
  )

  it('includes nothing by a custom parameter that reads a hidden element', () =>
    withMember(async (member, server) => {
      const { body: claim } = await server.get('/ExplanationOfBenefit/claim-ann')
      const extension = [{ url: 'http://example.org/bank', valueReference: { reference: 'Organization/bank' } }]
      expect((await server.put('/Organization/bank', { resourceType: 'Organization', id: 'bank', name: 'Bank' })).status).toBe(201)
      expect((await server.put('/ExplanationOfBenefit/claim-ann', { ...claim, payment: { ...claim.payment, extension } })).status).toBe(200)
      const definition = {
        ...{ resourceType: 'SearchParameter', id: 'bank', url: 'http://example.org/bank', name: 'Bank', status: 'active' },
        ...{ description: 'x', code: 'bank', base: ['ExplanationOfBenefit'], type: 'reference', target: ['Organization'] },
        expression: 'ExplanationOfBenefit.payment.extension.value.ofType(Reference)',
      }
      expect((await server.put('/SearchParameter/bank', definition)).status).toBe(201)
      const includedBy = async (client: TestClient, include: string) => {
        const { status, body } = await client.get(`/Organization?_id=bank&_revinclude=${include}`)
        return [status, body.entry?.map(({ resource }: Tree) => resource.id)]
      }
      await eventually(() => includedBy(server, 'ExplanationOfBenefit:bank'), { until: ([status]) => status === 200, every: 20 })
      for (const include of ['ExplanationOfBenefit:bank', 'ExplanationOfBenefit:*', '*'])
        expect([include, await includedBy(server, include)]).toEqual([include, [200, ['bank', 'claim-ann']]])
      expect(await includedBy(member, '*')).toEqual([200, ['bank']])
      expect(await includedBy(member, 'ExplanationOfBenefit:*')).toEqual([200, ['bank']])
      expect(await includedBy(member, 'ExplanationOfBenefit:bank')).toEqual([403, undefined])
    }))

  it.each([
    ['ExplanationOfBenefit', '_profile=http://example.org/a', '_profile of ExplanationOfBenefit'],
    ['Provenance', 'target=Observation/a', 'target of Provenance'],
  ])('finds and exports no %s by a scope with the condition %s', (type, condition, text) =>
    withMember(
      async (member, server) => {
        const { status, body } = await member.get(`/${type}`)
        expect([status, body.issue[0].details.text]).toEqual([403, expect.stringContaining(text)])
        expect((await member.get('/Patient/ann')).status).toBe(403)
        const group = { resourceType: 'Group', id: 'g', type: 'person', actual: true, identifier: [OTHER] }
        expect((await server.put('/Group/g', group)).status).toBe(201)
        const begun = await member.get('/Group/g/$davinci-data-export', { accept: 'application/fhir+json', prefer: 'respond-async' })
        expect([begun.status, begun.body?.issue[0].details.text]).toEqual([403, expect.stringContaining(text)])
      },
      ['system/Group.rs', `system/${type}.rs?${condition}`],
    ),
  )
})
