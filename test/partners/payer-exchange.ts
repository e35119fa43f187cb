/** An exchange between two payers: the members of this one, and the requests of the other, which is registered as a partner. */
import { expect } from '@jest/globals'
import type { IdentifierText } from '../../lambdas/fhir/identifier-text.ts'
import type { TestClient, TestResponse, Tree } from '../api/server.ts'
import type { SettingsServer } from '../api/settings-tried/setting-server.ts'
import { assertionFormOf, createKeyPair, signAssertion } from '../auth/assertions.ts'
import { eventually } from '../fixtures/eventually.ts'
import { CLAIM_PAIRS } from '../fixtures/payer/claims.ts'

const NPI = 'http://hl7.org/fhir/sid/us-npi'
export const OWN: IdentifierText = { system: NPI, value: '1992999999' }
export const OTHER: IdentifierText = { system: NPI, value: '1234567893' }

export const PAYER_SETTINGS = { FHIR_PAYER: `${OWN.system}|${OWN.value}`, FHIR_SENSITIVE_LABELS: 'none' }

export const EXPORT_TYPE = 'hl7.fhir.us.davinci-pdex#payertopayer'

type Member = { readonly id: string; readonly family: string; readonly given: string; readonly birthDate: string; readonly card: string }

export const ANN: Member = { id: 'ann', family: "O'Brien", given: 'Ann', birthDate: '1974-12-25', card: 'W-0001' }
export const BERT: Member = { id: 'bert', family: 'Smith', given: 'Bert', birthDate: '1981-02-03', card: 'W-0002' }

const MEMBER_NUMBER = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MB' }] }
const CARDS = 'http://example.org/cards'

export const coverageOf = (card: string, patient: string): Tree => ({
  resourceType: 'Coverage',
  identifier: [{ type: MEMBER_NUMBER, system: CARDS, value: card }],
  status: 'active',
  beneficiary: { reference: patient },
  payor: [{ display: 'Payer' }],
})

const [WHOLE_CLAIM, VIEWED_CLAIM] = CLAIM_PAIRS[0]!.map((claim) => ({
  // Exports cover services of the last years only.
  ...claim,
  billablePeriod: { start: new Date().toISOString().slice(0, 10) },
})) as unknown as readonly [Tree, Tree]
/** Stored claim as the view of a partner shows it. Its patient and its id differ. */
export const CLAIM_UNDER_VIEW = VIEWED_CLAIM

/** Returns the stored resources of a member: the Patient, a Coverage, an Observation and a claim with amounts. */
const recordOf = ({ id, family, given, birthDate, card }: Member): readonly Tree[] => {
  const patient = { reference: `Patient/${id}` }
  const { meta: _, ...claim } = WHOLE_CLAIM
  return [
    {
      ...{ resourceType: 'Patient', id, birthDate, gender: 'female', name: [{ family, given: [given] }] },
      identifier: [{ type: MEMBER_NUMBER, system: 'http://example.org/members', value: `member-${id}` }],
    },
    { ...coverageOf(card, patient.reference), id: `coverage-${id}` },
    { resourceType: 'Observation', id: `weight-${id}`, status: 'final', code: { text: 'weight' }, subject: patient },
    { ...claim, id: `claim-${id}`, patient },
  ]
}

export const membersBundle = (): Tree => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: [ANN, BERT].flatMap((member) =>
    recordOf(member).map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } })),
  ),
})

const actor = (system: string, code: string, identifier: IdentifierText): Tree => ({
  role: { coding: [{ system, code }] },
  reference: { identifier },
})

/** Returns the provision of a Consent that permits the disclosure to an organization. */
export const provisionFor = (recipient: IdentifierText): Tree => ({
  type: 'permit',
  period: { start: '2026-01-01', end: '2099-12-31' },
  actor: [
    actor('http://terminology.hl7.org/CodeSystem/provenance-participant-type', 'performer', OWN),
    actor('http://terminology.hl7.org/CodeSystem/v3-ParticipationType', 'IRCP', recipient),
  ],
})

/** Returns the input of `$member-match`: the member as the other payer knows it. `consent`: elements that replace those of the Consent. */
export const matchInput = ({ family, given, birthDate, card }: Member, consent: Tree = {}): Tree => ({
  resourceType: 'Parameters',
  parameter: [
    {
      name: 'MemberPatient',
      resource: { resourceType: 'Patient', id: 'p', name: [{ family: family.toUpperCase(), given: [given] }], birthDate, gender: 'female' },
    },
    { name: 'CoverageToMatch', resource: { ...coverageOf(card, 'Patient/p'), id: 'c' } },
    {
      name: 'Consent',
      resource: {
        resourceType: 'Consent',
        id: 'consent',
        status: 'active',
        scope: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/consentscope', code: 'patient-privacy' }] },
        category: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'IDSCL' }] }],
        patient: { reference: 'Patient/p' },
        dateTime: '2026-01-01',
        performer: [{ reference: 'Patient/p' }],
        sourceReference: { reference: 'DocumentReference/signed' },
        policy: [{ uri: 'http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#regular' }],
        provision: provisionFor(OTHER),
        ...consent,
      },
    },
  ],
})

/** Returns an attestation of the provider that is a partner: elements that replace those of a Consent. */
export const attestation = (fields: Tree = {}): Tree => ({
  dateTime: '2026-01-01',
  performer: [{ identifier: OTHER }],
  policy: [{ uri: 'http://example.org/attestations' }],
  provision: { type: 'permit', period: { start: '2026-01-01' } },
  ...fields,
})

/** Member of a request. `consent`: elements that replace those of its Consent. */
export type SentMember = { readonly member: Member; readonly consent?: Tree }

/** Returns the input of a match of many members. Each has an id of its own. */
export const bulkInput = (members: readonly SentMember[]): Tree => ({
  resourceType: 'Parameters',
  parameter: members.map(({ member, consent }, i) => {
    const { parameter: part } = matchInput(member, consent)
    part[0].resource.id = `p${i}`
    return { name: 'MemberBundle', part }
  }),
})

export const match = (partner: TestClient, member: Member, consent?: Tree): Promise<TestResponse> =>
  partner.post('/Patient/$member-match', matchInput(member, consent))

/** Requests the Groups that the partner may see, and returns the only one. */
export async function onlyGroup(partner: TestClient): Promise<Tree> {
  const { status, body } = await partner.get('/Group')
  expect([status, body?.total]).toEqual([200, 1])
  return body.entry[0].resource
}

/** Returns the lines of an export by type, each sorted by id. */
export const byType = (lines: readonly Tree[]): Readonly<Record<string, readonly string[] | undefined>> =>
  Object.fromEntries(
    [...Map.groupBy(lines, ({ resourceType }) => resourceType)].map(([type, each]) => [type, each.map(({ id }) => id).sort()]),
  )

/** Waits for an export that was started. Returns the lines of its files, and the messages of its file of errors. */
export async function exportResultOf(partner: TestClient, { headers }: TestResponse) {
  const job = headers.get('content-location')!
  const { body } = await eventually(() => partner.get(job), { until: ({ status }) => status !== 202, every: 20 })
  const linesOf = async (files: readonly Tree[]): Promise<readonly Tree[]> => {
    const texts = await Promise.all(files.map(async ({ url }) => (await partner.raw(url.split('/fhir')[1])).text()))
    return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line))
  }
  const messages = (await linesOf(body.error)).map(({ issue }) => issue[0].details.text as string)
  return { lines: await linesOf(body.output), messages }
}

/** Texts of the amounts in the stored claims. */
export const amountsOf = (claim: Tree): readonly string[] =>
  [...JSON.stringify(claim).matchAll(/"value":(\d+(?:\.\d+)?),"currency"|"currency":"\w+","value":(\d+(?:\.\d+)?)/g)].map(
    ([, first, second]) => first ?? second ?? '',
  )

/** Checks the files of an export of the first member: all of her record, and no amount. */
export function expectRecordWithoutAmounts(lines: readonly Tree[]): void {
  const types = byType(lines)
  expect([types.Patient, types.Coverage, types.Observation, types.ExplanationOfBenefit]).toEqual([
    ['ann'],
    ['coverage-ann'],
    ['weight-ann'],
    ['claim-ann'],
  ])
  const claim = lines.find(({ resourceType }) => resourceType === 'ExplanationOfBenefit')!
  expect([claim.total, claim.payment, claim.meta.tag]).toEqual([undefined, undefined, [expect.objectContaining({ code: 'SUBSETTED' })]])
  const { meta: _, ...without } = CLAIM_UNDER_VIEW
  expect({ ...claim, meta: undefined, patient: undefined, id: undefined }).toEqual({
    ...{ ...without, meta: undefined, patient: undefined, id: undefined },
  })
  expect(amountsOf(recordOf(ANN)[3]!).length).toBeGreaterThan(0)
  expect(amountsOf(claim)).toEqual([])
}

/** Registers a partner and returns its client. */
export async function partnerOf(server: SettingsServer, kind: 'payer' | 'provider' = 'payer', id: string = kind): Promise<TestClient> {
  return server.as((await partnerTokenOf(server, 'system/*.rs', kind, id)).access_token)
}

/** Registers a partner, requests a token with the scope, and returns the body of the response. */
export const partnerTokenOf = async (server: SettingsServer, scope: string, kind?: 'payer' | 'provider', id?: string): Promise<Tree> =>
  (await partnerTokens(server, kind, id))(scope)

/** Member that a token request names: in `sub` of the assertion, or in the parameter `patient`. */
export type NamedMember = { readonly sub?: string; readonly patient?: string }

/** Registers a partner. Returns a function that requests a token with a scope, and returns the body of the response. */
export async function partnerTokens(
  { register, token }: SettingsServer,
  kind: 'payer' | 'provider' = 'payer',
  id: string = kind,
  tenants: readonly string[] = ['default'],
): Promise<(scope: string, member?: NamedMember) => Promise<Tree>> {
  const pair = await createKeyPair('ES384', 'k')
  await register(id, {
    authentication: { kind: 'keys', keys: [pair.jwk] },
    scopes: ['system/*.rs'],
    partner: { kind, identifiers: [OTHER] },
    tenants,
  })
  return async (scope, { sub, patient } = {}) => {
    const claims = { aud: 'http://127.0.0.1/fhir/auth/token', ...(sub === undefined ? {} : { sub }) }
    const signed = signAssertion(pair, id, Date.now(), { claims })
    return (await token({ ...assertionFormOf(signed), scope, ...(patient === undefined ? {} : { patient }) })).body
  }
}
