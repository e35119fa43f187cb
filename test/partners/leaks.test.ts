/** No answer to a partner holds an amount: each interaction, type and form of an answer, for each kind of partner, with and without tenants. */
import { describe, expect, it } from '@jest/globals'
import { PARTNER_TYPES, REFERENCED_TYPES } from '../../lambdas/access/partner-types.ts'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { parametersOf } from '../../lambdas/search/parameters.ts'
import { clientOf, type TestClient, type Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { markedRecord } from './marked-record.ts'
import { ANN, matchInput, OTHER, PAYER_SETTINGS, partnerTokens } from './payer-exchange.ts'

const RECORD = markedRecord('ann', 7_000_000)
const ELSEWHERE = markedRecord('ann', 8_000_000)
const OTHER_MEMBER = markedRecord('bert', 9_000_000)

/** Group that the payer wrote for the partner, and the Consent of its member. */
const PERMISSION: readonly Tree[] = [
  {
    ...{ resourceType: 'Group', id: 'panel', type: 'person', actual: true, identifier: [OTHER] },
    member: [{ entity: { reference: 'Patient/ann' } }],
  },
  { ...matchInput(ANN).parameter[2].resource, id: 'permit', patient: { reference: 'Patient/ann' } },
]

const bundleOf = (resources: readonly Tree[]): Tree => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: resources.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } })),
})

/** Paths of all interactions that read, on the record. */
const PATHS: readonly string[] = [
  ...RECORD.resources.flatMap(({ resourceType: type, id }) => [
    ...[`/${type}/${id}`, `/${type}/${id}/_history/1`, `/${type}/${id}/_history`, `/${type}/${id}/$meta`, `/${type}/${id}/$validate`],
    ...[
      `/${type}`,
      `/${type}?_id=${id}`,
      `/Patient/ann/${type}`,
      `/${type}/_history`,
      `/${type}?_summary=count`,
      `/${type}?_total=accurate`,
    ],
    ...[`/${type}?_group=_tag`, `/${type}?_sort=_lastUpdated&_count=1`, `/${type}?_include=*`, `/${type}?_revinclude=*`, `/${type}/$meta`],
  ]),
  ...['/Patient/ann/$everything', '/Patient/ann/$everything?_type=Claim,ExplanationOfBenefit', '/Patient/$everything', '/Patient/ann/*'],
  ...['/Patient/$docref?patient=ann', '/_history', '/', '/?_type=ExplanationOfBenefit,Coverage', '/$meta', '/metadata'],
  ...['/Patient?_revinclude=*&_revinclude:iterate=*', '/ExplanationOfBenefit?_include=*&_include:iterate=*', '/Group'],
  ...[
    '/ExplanationOfBenefit?_include=ExplanationOfBenefit:claim',
    '/Provenance?_include=Provenance:target',
    '/Patient/ann/$export',
    '/$export',
  ],
]

/** Parameters of the form of an answer. */
const FORMS: readonly string[] = [
  ...['', '_pretty=true', '_format=xml', '_elements=total,item,payment,costToBeneficiary,text,contained,extension', '_elements=id'],
  ...['_summary=true', '_summary=text', '_summary=data', '_summary=false'],
]

const withForm = (path: string, form: string): string => (form === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${form}`)

/** Runs `proof` with clients of the operator and of a partner with a member in context. `hidden`: amounts that no answer may hold. */
const withRecord = (
  { kind, tenancy }: { readonly kind: 'payer' | 'provider'; readonly tenancy: 'on' | 'off' },
  proof: (clients: { readonly operator: TestClient; readonly member: TestClient; readonly server: SettingsServer }) => Promise<void>,
): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, FHIR_TENANCY: tenancy }, async (server) => {
    const as = (tenant: string): Record<string, string> => (tenancy === 'on' ? { 'x-tenant-id': tenant } : {})
    const put = async (resources: readonly Tree[], tenant: string) => {
      const { status, text } = await server.post('/', bundleOf(resources), as(tenant))
      expect([status, status === 200 ? '' : text]).toEqual([200, ''])
    }
    await put([...OTHER_MEMBER.resources, ...RECORD.resources, ...PERMISSION], 'default')
    if (tenancy === 'on') await put(ELSEWHERE.resources, 'elsewhere')
    const tokens = await partnerTokens(server, kind)
    const member = server.as((await tokens('system/*.rs', { patient: 'ann' })).access_token)
    const token = await server.embedded.issue({ isAdministrator: true, tenant: tenancy === 'on' ? 'default' : '*' })
    const operator = clientOf(server.base, () => token)
    await proof({ operator, member, server })
  })

const AMOUNTS = [RECORD, ELSEWHERE, OTHER_MEMBER].flatMap(({ amounts }) => amounts)
const leaksOf = (text: string): readonly string[] => AMOUNTS.filter((amount) => text.includes(amount))

const ALL = [
  { kind: 'payer', tenancy: 'off' },
  { kind: 'provider', tenancy: 'off' },
  { kind: 'payer', tenancy: 'on' },
  { kind: 'provider', tenancy: 'on' },
] as const

describe('a partner with a member in context', () => {
  it.each(ALL)('receives no amount by any interaction: $kind, tenancy $tenancy', (home) =>
    withRecord(home, async ({ operator, member }) => {
      const found = new Set<string>()
      const statuses = new Map<string, number>()
      for (const path of PATHS) {
        for (const amount of leaksOf((await operator.get(path)).text)) found.add(amount)
        for (const form of home === ALL[0] || home === ALL[3] ? FORMS : ['']) {
          const { status, text } = await member.get(withForm(path, form))
          expect([path, form, leaksOf(text)]).toEqual([path, form, []])
          if (form === '') statuses.set(path, status)
        }
      }
      // The paths lead to each of the amounts, and most of them answer the partner.
      expect(RECORD.amounts.filter((amount) => !found.has(amount))).toEqual([])
      for (const { resourceType: type, id } of RECORD.resources)
        expect([type, statuses.get(`/${type}/${id}`)]).toEqual([type, PARTNER_TYPES.includes(type) ? 200 : 403])
      expect(statuses.get('/Patient/ann/$everything')).toBe(200)
    }),
  )

  it.each(ALL)('receives no amount by a Bundle or a search by POST: $kind, tenancy $tenancy', (home) =>
    withRecord(home, async ({ member }) => {
      const entry = PATHS.map((path) => ({ request: { method: 'GET', url: path.slice(1) } })).filter(({ request }) => request.url !== '')
      for (const type of ['batch', 'transaction']) {
        for (let at = 0; at < entry.length; at += 50) {
          const { text } = await member.post('/', { resourceType: 'Bundle', type, entry: entry.slice(at, at + 50) })
          expect([type, at, leaksOf(text)]).toEqual([type, at, []])
        }
      }
      for (const { resourceType } of RECORD.resources) {
        const headers = { 'content-type': 'application/x-www-form-urlencoded' }
        const { text } = await member.send('POST', `/${resourceType}/_search`, '_include=*&_revinclude=*', headers)
        expect([resourceType, leaksOf(text)]).toEqual([resourceType, []])
      }
    }),
  )

  it('receives the rest of the record', () =>
    withRecord(ALL[0], async ({ member }) => {
      const { body } = await member.get('/Patient/ann/$everything')
      const shown = body.entry.map(({ resource }: Tree) => `${resource.resourceType}/${resource.id}`).sort()
      expect(shown).toEqual([
        ...['Coverage/ann-coverage', 'ExplanationOfBenefit/ann-authorization', 'ExplanationOfBenefit/ann-claim'],
        ...['Group/panel', 'Observation/ann-observation', 'Patient/ann', 'Provenance/ann-provenance'],
      ])
      const claim = body.entry.find(({ resource }: Tree) => resource.id === 'ann-claim').resource
      expect(claim).toMatchObject({ use: 'claim', outcome: 'complete', item: [{ sequence: 1, productOrService: { text: 'visit' } }] })
    }))

  it('learns no amount by a search parameter of R4', () =>
    withRecord(ALL[0], async ({ member }) => {
      const [amount] = RECORD.amounts
      const asked = resourceTypes.flatMap((type) =>
        parametersOf(type).flatMap(({ code }) =>
          [`${code}:missing=false`, `${code}=${amount}`, `_sort=${code}`].map((query) => ({ type, code, url: `${type}?${query}` })),
        ),
      )
      const refused = new Set<string>()
      for (let at = 0; at < asked.length; at += 100) {
        const some = asked.slice(at, at + 100)
        const entry = some.map(({ url }) => ({ request: { method: 'GET', url } }))
        const { text, body } = await member.post('/', { resourceType: 'Bundle', type: 'batch', entry })
        expect(leaksOf(text.replaceAll(amount!, ''))).toEqual([])
        for (const [i, { type, code, url }] of some.entries()) {
          const { response, resource } = body.entry[i]
          const isShown = response.status.startsWith('200') && (resource.entry ?? []).length > 0
          if (isShown) expect([url, ['Group', ...PARTNER_TYPES, ...REFERENCED_TYPES].includes(type)]).toEqual([url, true])
          if (JSON.stringify(response.outcome ?? '').includes(`parameter ${code} of ${type}`)) refused.add(`${type} ${code}`)
        }
      }
      // A sort by the entities or targets of a Provenance, or by the members of a Group, would reveal other resources.
      expect([...refused]).toEqual(['ExplanationOfBenefit _profile', 'Group member', 'Provenance entity', 'Provenance target'])
    }))
})
