/**
 * Partners send the same requests to two whole servers that differ in the denial of one member. The responses have the same bytes, except
 * for ids and times: a member who denied looks like a stranger, and the other members do not change.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { TestClient, TestResponse, Tree } from '../api/server.ts'
import { withSettings } from '../api/settings-tried/setting-server.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ANN, attestation, BERT, bulkInput, matchInput, membersBundle, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
const PDEX = 'http://hl7.org/fhir/us/davinci-pdex'

const denialOf = (fields: Tree): Tree => ({
  ...matchInput(BERT).parameter[2].resource,
  ...{ id: 'denial', patient: { reference: 'Patient/bert' }, provision: { type: 'deny' } },
  ...fields,
})
const purpose = (code: string): Tree => ({ category: [{ coding: [{ system: `${PDEX}/CodeSystem/pdex-consent-api-purpose`, code }] }] })
const OPT_OUT: Tree = {
  ...{ resourceType: 'Group', id: 'opt-outs', type: 'person', actual: true, active: true },
  meta: { profile: [`${PDEX}/StructureDefinition/pdex-member-opt-out`] },
  code: { coding: [{ system: `${PDEX}/CodeSystem/PdexMultiMemberMatchResultCS`, code: 'consentconstraint' }] },
  member: [{ entity: { reference: 'Patient/bert' } }],
}

/** `withoutBert`: Bert is no member. `more`: further stored resources. */
type Stored = { readonly withoutBert?: true; readonly more?: readonly Tree[] }

/** Responses of a server to partners: in an exchange about Ann, and in one about Ann and Bert. */
type Transcript = { readonly ann: string; readonly both: string }

async function transcriptOf({ withoutBert, more = [] }: Stored): Promise<Transcript> {
  const transcripts: string[] = []
  await withSettings(PAYER_SETTINGS, async (server) => {
    const { entry, ...bundle } = membersBundle()
    const kept = entry.filter(({ resource }: Tree) => withoutBert !== true || !/\bbert$/.test(resource.id))
    expect((await server.post('/', { ...bundle, entry: kept })).status).toBe(200)
    for (const each of more) expect((await server.put(`/${each.resourceType}/${each.id}`, each)).status).toBe(201)
    const partners = [await partnerOf(server, 'payer'), await partnerOf(server, 'provider')] as const
    for (const members of [[ANN], [ANN, BERT]]) transcripts.push((await exchange(partners, members)).join('\n'))
  })
  return { ann: transcripts[0]!, both: transcripts[1]! }
}

/** Returns a response as a text, without ids and times. */
function shown({ status, headers, text }: TestResponse): string {
  const names = [...headers].filter(([name]) => !CHANGING.includes(name)).map(([name, value]) => `${name}: ${value}`)
  return (
    [status, ...names.toSorted(), text.split('\n').toSorted().join('\n')]
      .join('\n')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'uuid')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'instant')
      .replaceAll(/[0-9a-f]{64}/g, 'digest')
      // The day of a match may change between two servers.
      .replaceAll(/"start":"\d{4}-\d\d-\d\d"/g, '"start":"day"')
  )
}

/** Headers with a time, an id or a sealed position, the length of a body that may be compressed, and headers of the connection. */
const CHANGING = ['connection', 'keep-alive', 'date', 'x-request-id', 'x-index-token', 'last-modified', 'expires', 'content-length']

/** Waits for a job. Returns its manifest and its files, and the Groups in them. */
async function jobOf(
  partner: TestClient,
  begun: TestResponse,
): Promise<{ readonly shown: readonly string[]; readonly groups: readonly string[] }> {
  const done = await eventually(() => partner.get(begun.headers.get('content-location')!), {
    until: ({ status }) => status !== 202,
    every: 20,
  })
  const files: TestResponse[] = []
  for (const { url } of [...done.body.output, ...done.body.error]) files.push(await partner.get(url))
  const lines = files.flatMap(({ text }) => text.trim().split('\n')).map((line) => JSON.parse(line))
  const groups = lines.filter(({ resourceType, id }) => resourceType === 'Group' && id !== undefined).map(({ id }) => id as string)
  return { shown: [begun, done, ...files].map(shown), groups }
}

/** Exports a Group, also with Bert as the named patient. */
async function exportsOf(partner: TestClient, group: string): Promise<readonly string[]> {
  const path = `/Group/${group}/$davinci-data-export`
  const named = { resourceType: 'Parameters', parameter: [{ name: 'patient', valueReference: { reference: 'Patient/bert' } }] }
  const all = await jobOf(partner, await partner.get(path, ASYNC))
  return [...all.shown, ...(await jobOf(partner, await partner.post(path, named, ASYNC))).shown]
}

/** Matches the members by each operation, and exports the found ones. */
async function exchange(
  [payer, provider]: readonly [TestClient, TestClient],
  members: readonly (typeof ANN)[],
): Promise<readonly string[]> {
  const transcript: string[] = []
  for (const member of members) transcript.push(shown(await payer.post('/Patient/$member-match', matchInput(member))))
  const { entry } = (await payer.get(GROUPS)).body
  transcript.push(...(await exportsOf(payer, entry.at(-1).resource.id)))
  for (const [partner, operation, consent] of [
    [payer, '$bulk-member-match', {}],
    [provider, '$provider-member-match', attestation()],
  ] as const) {
    const sent = bulkInput(members.map((member) => ({ member, consent })))
    const matched = await jobOf(partner, await partner.post(`/Group/${operation}`, sent, ASYNC))
    transcript.push(...matched.shown, ...(await exportsOf(partner, matched.groups[0]!)))
    for (const path of [GROUPS, '/Group?member=Patient/bert', '/Group/opt-outs', '/Consent', '/Consent/denial', '/Patient/bert'])
      transcript.push(shown(await partner.get(path)))
  }
  return transcript
}

/** Oldest first. */
const GROUPS = '/Group?_sort=_lastUpdated'

describe('Partners of a server', () => {
  let [permitted, stranger]: readonly Transcript[] = []

  beforeAll(async () => {
    permitted = await transcriptOf({})
    stranger = await transcriptOf({ withoutBert: true })
  }, 120_000)

  it('receive data of members without a denial', () => {
    expect(permitted!.both).not.toBe(stranger!.both)
    expect(permitted!.ann).toBe(stranger!.ann)
  })

  it.each<[what: string, more: readonly Tree[]]>([
    ['a Consent', [denialOf({})]],
    [
      'Consents for payers and for providers',
      [denialOf(purpose('payer-to-payer')), denialOf({ id: 'second', ...purpose('provider-access') })],
    ],
    ['an opt-out Group', [OPT_OUT]],
  ])('receive the same after a denial by %s as for a stranger', async (_, more) => {
    const denied = await transcriptOf({ more })
    expect(denied.both).toBe(stranger!.both)
    expect(denied.ann).toBe(permitted!.ann)
  })
})
