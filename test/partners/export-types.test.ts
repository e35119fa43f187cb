/** Export types of partners: requests and results of a provider. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, TestResponse, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { byType, exportResultOf, membersBundle, OTHER, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
const PDEX = 'hl7.fhir.us.davinci-pdex#'
const ATTRIBUTION = 'hl7.fhir.us.davinci-atr'
const SINCE = '2026-01-01T00:00:00Z'

const path = '/Group/panel/$davinci-data-export'

const reference = (text: string): Tree => ({ reference: text })
const group = (id: string, fields: Tree): Tree => ({
  ...{ resourceType: 'Group', id, type: 'person', actual: true, member: [{ entity: reference('Patient/ann') }] },
  ...fields,
})

/**
 * Resources in addition to the members: a Group of the provider, another Group, and the targets of references from the record of a member.
 */
const OTHERS: readonly Tree[] = [
  group('panel', { identifier: [OTHER] }),
  group('other', { identifier: [{ system: 'urn:x', value: 'other' }] }),
  { resourceType: 'Practitioner', id: 'doctor' },
  { resourceType: 'PractitionerRole', id: 'role', practitioner: reference('Practitioner/doctor') },
  {
    ...{ resourceType: 'Claim', id: 'claim', status: 'active', use: 'claim', created: '2026-01-01', patient: reference('Patient/ann') },
    ...{ type: { text: 'x' }, priority: { text: 'x' }, provider: reference('Practitioner/doctor') },
    insurance: [{ sequence: 1, focal: true, coverage: reference('Coverage/coverage-ann') }],
  },
  {
    ...{ resourceType: 'Observation', id: 'pulse', status: 'final', code: { text: 'pulse' }, subject: reference('Patient/ann') },
    performer: [reference('PractitionerRole/role')],
  },
]

const withProvider = (proof: (provider: TestClient, server: SettingsServer) => Promise<void>): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, FHIR_MAX_RUNNING_EXPORTS: '50' }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    for (const each of OTHERS) expect((await server.put(`/${each.resourceType}/${each.id}`, each)).status).toBeLessThan(300)
    await proof(await partnerOf(server, 'provider'), server)
  })

const begin = (provider: TestClient, parameters: Readonly<Record<string, string>>) =>
  provider.get(`${path}?${new URLSearchParams(parameters)}`, ASYNC)

/** Id of the Provenance of an export, which names this payer as transmitter. */
const TRANSMISSION = expect.stringMatching(/^[0-9a-f]{64}$/)

/** Returns the ids of the exported resources by type, and the messages of the file of errors. */
async function resultOf(provider: TestClient, begun: TestResponse) {
  expect(begun.status).toBe(202)
  const { lines, messages } = await exportResultOf(provider, begun)
  return { types: byType(lines), messages }
}

describe('a provider', () => {
  it('starts each export type of its kind only', () =>
    withProvider(async (provider) => {
      const requests: readonly (readonly [parameters: Readonly<Record<string, string>>, status: number])[] = [
        [{}, 202],
        [{ exportType: `${PDEX}provider-download` }, 202],
        [{ exportType: `${PDEX}provider-snapshot` }, 202],
        [{ exportType: `${PDEX}provider-delta`, _since: SINCE }, 202],
        [{ exportType: ATTRIBUTION }, 202],
        [{ exportType: ATTRIBUTION, _type: 'Group,Patient,Coverage,Location' }, 202],
        [{ exportType: `${PDEX}provider-delta` }, 400],
        [{ exportType: ATTRIBUTION, _type: 'Patient,Coverage' }, 400],
        [{ exportType: `${PDEX}provider-all` }, 400],
        [{ exportType: `${PDEX}payertopayer` }, 403],
      ]
      for (const [parameters, status] of requests)
        expect([parameters, (await begin(provider, parameters)).status]).toEqual([parameters, status])
      const { body } = await begin(provider, { exportType: 'x' })
      expect(body.issue[0].details.text).toContain(`${PDEX}provider-snapshot`)
      for (const name of ['valueCanonical', 'valueUri', 'valueString', 'valueCode']) {
        const parameter = [{ name: 'exportType', [name]: `${PDEX}provider-snapshot` }]
        expect([name, (await provider.post(path, { resourceType: 'Parameters', parameter }, ASYNC)).status]).toEqual([name, 202])
      }
    }))

  it('gets the record of its patients with referenced resources, and messages about other types', () =>
    withProvider(async (provider) => {
      const { types, messages } = await resultOf(provider, await begin(provider, {}))
      expect(messages).toEqual([])
      expect([types.Patient, types.Observation, types.PractitionerRole, types.Practitioner, types.Claim, types.Group]).toEqual([
        ...[['ann'], ['pulse', 'weight-ann'], ['role'], ['doctor']],
        ...[undefined, undefined],
      ])
      const named = await resultOf(provider, await begin(provider, { _type: 'Claim,Group,Observation' }))
      expect(named).toEqual({
        types: { Observation: ['pulse', 'weight-ann'], Patient: ['ann'], Provenance: [TRANSMISSION] },
        messages: ['_type names Claim, which is no type of this export', '_type names Group, which is no type of this export'],
      })
      const parameter = ['ann', 'bert'].map((id) => ({ name: 'patient', valueReference: reference(`Patient/${id}`) }))
      const asked = await resultOf(provider, await provider.post(path, { resourceType: 'Parameters', parameter }, ASYNC))
      expect([asked.types.Patient, asked.messages]).toEqual([['ann'], ['Patient/bert is no member of the Group']])
    }))

  it('gets attributions with its own Group only', () =>
    withProvider(async (provider) => {
      const { types, messages } = await resultOf(provider, await begin(provider, { exportType: ATTRIBUTION }))
      expect([types, messages]).toEqual([
        { Group: ['panel'], Patient: ['ann'], Coverage: ['coverage-ann'], Provenance: [TRANSMISSION] },
        [],
      ])
    }))

  it('narrows an export by filters and times, and never widens it', () =>
    withProvider(async (provider) => {
      const filtered = await resultOf(provider, await begin(provider, { _type: 'Observation', _typeFilter: 'Observation?code:text=pulse' }))
      expect(filtered.types.Observation).toEqual(['pulse'])
      const other = await resultOf(
        provider,
        await begin(provider, { _type: 'Observation', _typeFilter: 'Observation?subject=Patient/bert' }),
      )
      expect(other.types.Observation).toBeUndefined()
      const later = await resultOf(provider, await begin(provider, { _until: SINCE }))
      expect(later.types.Observation).toBeUndefined()
    }))
})
