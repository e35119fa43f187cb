/**
 * The example requests of HRex 1.2.0 and PDex 2.2.0, sent unchanged to a server at a time that their Consents cover. The stored members
 * follow the example responses.
 */
import { expect } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { assertionFormOf, createKeyPair, signAssertion } from '../auth/assertions.ts'
import { matchExample } from '../fixtures/payer/match-examples.ts'
import { coverageOf } from './member-store.ts'
import { exportResultOf } from './payer-exchange.ts'

export const HREX = 'http://hl7.org/fhir/us/davinci-hrex/StructureDefinition'
export const PDEX = 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition'
const NPI = 'http://hl7.org/fhir/sid/us-npi'

/** Resource that a partner sent or received, with the profile that the guide gives it. */
export type JudgedResource = { readonly title: string; readonly resource: Tree; readonly profile: string }

/** Groups of a match by their code, and all that was sent and received. */
export type MatchedExample = { readonly groups: Readonly<Record<string, Tree>>; readonly judged: readonly JudgedResource[] }

const OLD_PAYER = '9876543210'
const NEW_PAYER = '0123456789'
/** Recipient of the second example of HRex. */
const PROVIDER = '0000000001'

type Exchange = { readonly server: SettingsServer; readonly partner: TestClient }

/** Runs `proof` with a server on this day, and a partner with these NPIs. */
async function withPartner<Result>(
  day: string,
  kind: 'payer' | 'provider',
  npis: readonly string[],
  proof: (exchange: Exchange) => Promise<Result>,
): Promise<Result> {
  const settings = { FHIR_PAYER: `${NPI}|${OLD_PAYER}`, FHIR_SENSITIVE_LABELS: 'none', FHIR_REPORT_OPT_OUT: 'on' }
  const results: Result[] = []
  const work = async (server: SettingsServer) => {
    const pair = await createKeyPair('ES384', 'k')
    const identifiers = npis.map((value) => ({ system: NPI, value }))
    await server.register('partner', {
      ...{ authentication: { kind: 'keys', keys: [pair.jwk] }, scopes: ['system/*.rs'], partner: { kind, identifiers } },
    })
    const now = Date.now() + server.ahead
    const signed = signAssertion(pair, 'partner', now, { claims: { aud: 'http://127.0.0.1/fhir/auth/token' } })
    const { body } = await server.token({ ...assertionFormOf(signed), scope: 'system/*.rs' })
    results.push(await proof({ server, partner: server.as(body.access_token) }))
  }
  await withSettings(settings, work, { ahead: Date.parse(day) - Date.now() })
  return results[0]!
}

async function store(server: SettingsServer, ...resources: readonly Tree[]): Promise<void> {
  for (const each of resources)
    expect([each.id, (await server.put(`/${each.resourceType}/${each.id}`, each)).status]).toEqual([each.id, 201])
}

/** Sends an example of `$member-match`. Returns the status and the body. `more`: stored resources. */
export const memberMatchOf = (id: string, more: readonly Tree[]): Promise<{ readonly status: number; readonly body: Tree }> =>
  withPartner('2022-01-15T12:00:00Z', 'payer', [NEW_PAYER, PROVIDER], async ({ server, partner }) => {
    await store(server, ...more)
    const { status, body } = await partner.post('/Patient/$member-match', matchExample(id))
    return { status, body }
  })

/** Sends Parameters of a bulk match, and waits for its Groups. `stored`: resources of the server. */
export const bulkMatchOf = (kind: 'payer' | 'provider', day: string, request: Tree, stored: readonly Tree[]): Promise<MatchedExample> =>
  withPartner(day, kind, kind === 'payer' ? [NEW_PAYER] : ['1234567893', '1982947230'], async ({ server, partner }) => {
    await store(server, ...stored)
    const operation = kind === 'payer' ? '$bulk-member-match' : '$provider-member-match'
    const begun = await partner.post(`/Group/${operation}`, request, { accept: 'application/fhir+json', prefer: 'respond-async' })
    expect([begun.status, begun.text]).toEqual([202, ''])
    const { lines, messages } = await exportResultOf(partner, begun)
    expect(messages).toEqual([])
    const groups = lines.filter(({ resourceType }) => resourceType === 'Group')
    const judged = groups.map((resource) => ({
      title: `${kind} ${resource.code.coding[0].code}`,
      resource,
      profile: resource.meta.profile[0],
    }))
    const [resource] = lines.filter(({ resourceType }) => resourceType === 'Parameters')
    const name = `${PDEX}/${kind === 'payer' ? 'pdex' : 'provider'}-parameters-multi-member-match-bundle`
    return {
      groups: Object.fromEntries(groups.map((group) => [group.code.coding[0].code, group])),
      judged: [...judged, { title: `${kind} response`, resource: resource!, profile: `${name}-out` }],
    }
  })

/** Returns the stored records of a member that a request names. */
export const recordOf = (id: string, { part }: Tree): readonly Tree[] => {
  const [{ resource: sent }, { resource: coverage }] = part
  return [
    { ...sent, id, text: undefined },
    coverageOf(`c-${id}`, id, { subscriberId: coverage.subscriberId, identifier: coverage.identifier }),
  ]
}
