/** Files of partners: their links need the access token of the partner that started the job. */
import { describe, expect, it } from '@jest/globals'
import { openAdministration } from '../../lambdas/runtime/control/administration.ts'
import type { TestClient, TestResponse, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ANN, bulkInput, match, membersBundle, onlyGroup, PAYER_SETTINGS, partnerOf, partnerTokens } from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

type Exchange = {
  readonly server: SettingsServer
  readonly partner: TestClient
  readonly group: string
  readonly withScope: (scope: string) => Promise<TestClient>
}

const withMatch = (proof: (exchange: Exchange) => Promise<void>): Promise<void> =>
  withSettings(PAYER_SETTINGS, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    const tokenOf = await partnerTokens(server)
    const withScope = async (scope: string) => server.as((await tokenOf(scope)).access_token)
    const partner = await withScope('system/*.rs')
    expect((await match(partner, ANN)).status).toBe(200)
    await proof({ server, partner, withScope, group: (await onlyGroup(partner)).id })
  })

async function manifestOf(client: TestClient, { status, headers }: TestResponse): Promise<Tree> {
  expect(status).toBe(202)
  const job = headers.get('content-location')!
  return (await eventually(() => client.get(job), { until: (answer) => answer.status !== 202, every: 20 })).body
}

/** Exports the matched member. Returns the path of the file of Patients. */
async function exportedFile({ partner, group }: Exchange): Promise<string> {
  const { output } = await manifestOf(partner, await partner.get(`/Group/${group}/$davinci-data-export`, ASYNC))
  return pathOf(output.find(({ type }: Tree) => type === 'Patient'))
}

const pathOf = ({ url }: Tree): string => url.split('/fhir')[1]

describe('a file of a partner', () => {
  it('is sent to the partner that started the export', () =>
    withMatch(async (exchange) => {
      const { partner, group } = exchange
      const manifest = await manifestOf(partner, await partner.get(`/Group/${group}/$davinci-data-export`, ASYNC))
      const answer = await partner.raw(pathOf(manifest.output.find(({ type }: Tree) => type === 'Patient')))
      expect([manifest.requiresAccessToken, answer.status, answer.headers.get('content-type')]).toEqual([
        true,
        200,
        'application/fhir+ndjson',
      ])
      expect(((await answer.json()) as Tree).id).toBe('ann')
    }))

  it('is sent to the partner that started the match', () =>
    withMatch(async ({ partner }) => {
      const begun = await partner.post('/Group/$bulk-member-match', bulkInput([{ member: ANN }]), ASYNC)
      const manifest = await manifestOf(partner, begun)
      const statuses = manifest.output.map(async (file: Tree) => (await partner.raw(pathOf(file))).status)
      expect([manifest.requiresAccessToken, manifest.output.map(({ type }: Tree) => type), await Promise.all(statuses)]).toEqual([
        true,
        ['Group', 'Parameters'],
        [200, 200],
      ])
    }))

  it('is 404 for another caller, and 401 without a token', () =>
    withMatch(async (exchange) => {
      const file = await exportedFile(exchange)
      const another = await partnerOf(exchange.server, 'payer', 'another')
      expect([(await another.raw(file)).status, (await exchange.server.raw(file)).status]).toEqual([404, 404])
      expect((await exchange.server.as('').raw(file)).status).toBe(401)
    }))

  it('is 404 for a name that the manifest does not contain', () =>
    withMatch(async (exchange) => {
      const file = await exportedFile(exchange)
      for (const path of [file.replace('Patient', 'Claim'), file.replace('.ndjson', ''), '/export/missing/Patient.ndjson'])
        expect([path, (await exchange.partner.raw(path)).status]).toEqual([path, 404])
    }))

  it('is 403 for a token that does not cover its type', () =>
    withMatch(async (exchange) => {
      const file = await exportedFile(exchange)
      const statusOf = async (scope: string) => (await (await exchange.withScope(scope)).raw(file)).status
      expect([await statusOf('system/Observation.rs'), await statusOf('system/Patient.r')]).toEqual([403, 200])
    }))

  it('is refused as soon as the registration of the partner is removed', () =>
    withMatch(async (exchange) => {
      const file = await exportedFile(exchange)
      const { clients, close } = await openAdministration(exchange.server.folder, { isNew: false })
      await clients.change('payer', () => undefined)
      await close()
      expect((await exchange.partner.raw(file)).status).toBe(403)
    }))
})
