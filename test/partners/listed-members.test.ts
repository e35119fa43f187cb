/**
 * Groups that the payer wrote for a partner. They may list members who opted out. No read, search or export distinguishes such a member from a
 * stranger.
 */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, TestResponse, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  ANN,
  attestation,
  BERT,
  bulkInput,
  exportResultOf,
  matchInput,
  membersBundle,
  OTHER,
  PAYER_SETTINGS,
  partnerOf,
} from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
const [ann, bert] = ['Patient/ann', 'Patient/bert'].map((reference) => ({ entity: { reference } }))

/** Group that the payer wrote. */
const panelOf = (id: string, ...member: readonly unknown[]): Tree => ({
  ...{ resourceType: 'Group', id, type: 'person', actual: true, name: 'Panel', identifier: [OTHER], quantity: member.length, member },
  text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${member.length} members</div>` },
})
const OPT_OUT: Tree = {
  ...{ ...matchInput(BERT).parameter[2].resource, id: 'opt-out', patient: { reference: 'Patient/bert' } },
  ...{ category: [{ text: 'any' }], provision: { type: 'deny' } },
}

/** Runs a test with a partner. The Group `whole` lists a member who opted out, and the Group `other` does not. */
const withPanels = (kind: 'payer' | 'provider', test: (partner: TestClient, server: SettingsServer) => Promise<void>) =>
  withSettings(PAYER_SETTINGS, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    for (const each of [panelOf('whole', ann, bert), panelOf('other', ann), OPT_OUT])
      expect((await server.put(`/${each.resourceType}/${each.id}`, each)).status).toBe(201)
    await test(await partnerOf(server, kind), server)
  })

/** Returns a response as a text, without ids of Groups and without times. */
const shown = ({ status, headers, text }: TestResponse): string =>
  [status, headers.get('etag'), text]
    .join('\n')
    .replaceAll(/\bwhole\b|\bother\b/g, 'id')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'instant')

/** Returns the Group of an export as a text, without its id and time. */
const shownGroup = (lines: readonly Tree[]): string =>
  JSON.stringify({ ...lines.find(({ resourceType }) => resourceType === 'Group'), id: 'id', meta: 'meta' })

const READS = ['', '/_history', '/_history/1', '?_summary=true', '?_elements=member,quantity', '?_format=xml', '/$meta'] as const

describe.each(['payer', 'provider'] as const)('a %s', (kind) => {
  it('reads no members in a Group that the payer wrote', () =>
    withPanels(kind, async (partner) => {
      const { status, body } = await partner.get('/Group/whole')
      const { text: _, quantity: __, member: ___, ...panel } = panelOf('whole')
      expect([status, body]).toEqual([
        200,
        { ...panel, meta: expect.objectContaining({ tag: [expect.objectContaining({ code: 'SUBSETTED' })] }) },
      ])
      for (const path of READS)
        expect(shown(await partner.get(`/Group/whole${path}`))).toBe(shown(await partner.get(`/Group/other${path}`)))
      for (const path of ['/Group', '/Group?_include=Group:member', '/Group?_include=*', '/Group/whole/_history', '/'])
        expect((await partner.get(path)).text).not.toMatch(/Patient\/(?:ann|bert)/)
    }))

  it('searches no Group by its members', () =>
    withPanels(kind, async (partner) => {
      for (const query of ['/Group?member=', '/Group?_id=whole&member=', '/Group?member:missing=true&_id=', '/Group?_sort=member&_id='])
        expect((await partner.get(`${query}Patient/bert`)).status).toBe(403)
      for (const path of ['/Patient/bert/Group', '/Patient/bert/*?_type=Group']) expect((await partner.get(path)).status).toBe(403)
      expect((await partner.get('/Patient/bert/*')).body).not.toHaveProperty('entry')
      const query = `/Group?identifier=${OTHER.system}|${OTHER.value}&code:missing=true`
      expect((await partner.get(query)).body.entry.map(({ resource }: Tree) => resource.id).toSorted()).toEqual(['other', 'whole'])
    }))
})

describe('a provider', () => {
  it('gets the permitted members by an export of attributions', () =>
    withPanels('provider', async (provider) => {
      const members: (readonly [group: string, messages: readonly string[]])[] = []
      for (const id of ['whole', 'other']) {
        const path = `/Group/${id}/$davinci-data-export?exportType=hl7.fhir.us.davinci-atr`
        const { lines, messages } = await exportResultOf(provider, await provider.get(path, ASYNC))
        members.push([shownGroup(lines), messages])
      }
      const { text: _, quantity: __, ...group } = panelOf('id', ann)
      const [whole, other] = members
      expect([JSON.parse(whole![0]), whole![1]]).toEqual([{ ...group, meta: 'meta' }, []])
      expect(whole).toEqual(other)
      const filter = '/Group/whole/$davinci-data-export?exportType=hl7.fhir.us.davinci-atr&_typeFilter=Group%3Fmember%3DPatient/bert'
      expect((await provider.get(filter, ASYNC)).status).toBe(403)
    }))

  it('gets the same message for a named member with an opt-out and for a stranger', () =>
    withPanels('provider', async (provider) => {
      const named = { resourceType: 'Parameters', parameter: [{ name: 'patient', valueReference: { reference: 'Patient/bert' } }] }
      for (const id of ['whole', 'other']) {
        const kickOff = await provider.post(`/Group/${id}/$davinci-data-export`, named, ASYNC)
        expect((await exportResultOf(provider, kickOff)).messages).toEqual(['Patient/bert is no member of the Group'])
      }
    }))

  it('reads the members in the Group of its match', () =>
    withPanels('provider', async (provider) => {
      const input = bulkInput([{ member: ANN, consent: attestation() }])
      await exportResultOf(provider, await provider.post('/Group/$provider-member-match', input, ASYNC))
      const { body } = await eventually(() => provider.get('/Group?code=match'), { until: (each) => each.body.total === 1, every: 20 })
      expect(body.entry[0].resource.member[0]).toMatchObject(ann!)
    }))
})

describe('a client of the payer', () => {
  it('reads the members in each Group', () =>
    withPanels('provider', async (_, server) => {
      expect((await server.get('/Group/whole')).body.member).toEqual([ann, bert])
    }))
})
