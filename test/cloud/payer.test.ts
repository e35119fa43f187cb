/** Another payer matches a member who consented, and exports her record, on the deployed functions. @cloud:here */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { clientOf, type TestClient, type Tree } from '../api/server.ts'
import { assertionFormOf, createKeyPair, signAssertion } from '../auth/assertions.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  ANN,
  amountsOf,
  BERT,
  bulkInput,
  EXPORT_TYPE,
  expectRecordWithoutAmounts,
  match,
  membersBundle,
  OTHER,
  onlyGroup,
  PAYER_SETTINGS,
} from '../partners/payer-exchange.ts'
import type { AwsCalls } from './aws-calls.ts'
import { jobIdOf, kickOff, linesOf, ownFunctions, pollManifest, runExportWorkflow } from './exports.ts'
import type { FunctionHost } from './function-host.ts'
import { register, registryOf } from './registry.ts'
import { runOnCloud } from './requested-deployment.ts'

runOnCloud('a payer that is a partner of the deployed stage', { settings: PAYER_SETTINGS, here: true }, (cloud, { base, post }) => {
  let partner: TestClient
  let tokenFor: (more: Readonly<Record<string, string>>) => Promise<Tree>
  let [aws, host, machine]: [AwsCalls, FunctionHost, string] = [] as never

  beforeAll(async () => {
    const { awsEndpoint, deployment } = cloud()
    const own = await ownFunctions(cloud())
    ;[aws, host, machine] = [own.aws, own.host, own.functions.export!.environment.FHIR_EXPORT_WORKFLOW!]
    const pair = await createKeyPair('ES384', 'k')
    const registry = registryOf(awsEndpoint, deployment)
    await register(registry, {
      ...{ id: 'other', scopes: ['system/*.rs'], tenants: ['default'] },
      ...{ authentication: { kind: 'keys', keys: [pair.jwk] }, partner: { kind: 'payer', identifiers: [OTHER] } },
    })
    registry.close()
    tokenFor = async (more) => {
      const signed = signAssertion(pair, 'other', Date.now(), { claims: { aud: `${base()}/auth/token` } })
      const form = new URLSearchParams({ ...assertionFormOf(signed), scope: 'system/*.rs', ...more })
      return (await fetch(`${base()}/auth/token`, { method: 'POST', body: form })).json()
    }
    const { access_token } = await tokenFor({})
    partner = clientOf(base, () => access_token)
    expect((await post('/', membersBundle())).status).toBe(200)
  })
  afterAll(() => host?.close())

  /** Requests a file by the token, and follows the redirect without it. */
  async function download(url: string): Promise<Response> {
    const { status, headers } = await partner.raw(url.slice(base().length), { redirect: 'manual' })
    expect(status).toBe(307)
    return fetch(headers.get('location')!)
  }

  it('matches a member, and exports her record without amounts', async () => {
    const answer = await match(partner, ANN)
    expect([answer.status, answer.body?.parameter?.[1]?.valueReference]).toEqual([200, { reference: 'Patient/ann' }])
    const { id } = await onlyGroup(partner)
    const job = await kickOff(partner, `/Group/${id}/$davinci-data-export?exportType=${encodeURIComponent(EXPORT_TYPE)}`)
    await runExportWorkflow(aws, machine, host, { job: jobIdOf(job), attempt: 1 })
    const { manifest } = await pollManifest(partner, job)
    expect(manifest.requiresAccessToken).toBe(true)
    expectRecordWithoutAmounts(await linesOf(manifest.output, download))
  })

  it('reads the member that it matched, by a token with this member', async () => {
    const { access_token, patient } = await tokenFor({ patient: 'ann' })
    expect(patient).toBe('ann')
    const member = clientOf(base, () => access_token)
    const { status, body } = await member.get('/ExplanationOfBenefit/claim-ann')
    expect([status, body.payment, amountsOf(body)]).toEqual([200, undefined, []])
    expect((await member.get('/Patient/bert')).status).toBe(404)
    const found = () => member.get('/ExplanationOfBenefit')
    const { body: page } = await eventually(found, { until: ({ body }) => body.total === 1, every: 100 })
    expect(page.entry.map(({ resource }: Tree) => resource.id)).toEqual(['claim-ann'])
    expect((await tokenFor({ patient: 'bert' })).error).toBe('invalid_grant')
  })

  it('matches many members in one job, with a Group of the found members', async () => {
    const headers = { accept: 'application/fhir+json', prefer: 'respond-async' }
    const body = bulkInput([{ member: ANN }, { member: { ...ANN, given: 'Anna' } }])
    const begun = await partner.post('/Group/$bulk-member-match', body, headers)
    const job = begun.headers.get('content-location')!
    expect([begun.status, begun.text]).toEqual([202, ''])
    await runExportWorkflow(aws, machine, host, { job: jobIdOf(job), attempt: 1 })
    const { manifest } = await pollManifest(partner, job)
    const groups = await linesOf(
      manifest.output.filter(({ type }: Tree) => type === 'Group'),
      download,
    )
    expect(groups.map(({ member }) => member.map(({ entity }: Tree) => entity.reference))).toEqual([['Patient/ann'], ['#p1']])
    expect((await partner.get(`/Group/${groups[0]!.id}`)).body.quantity).toBe(1)
  })

  it('finds no person by a card after five wrong guesses at it', async () => {
    for (const card of ['1', '2', '3', '4', '5']) expect((await match(partner, { ...BERT, card })).status).toBe(422)
    expect((await match(partner, BERT)).status).toBe(422)
  })

  it('finds no stranger, and reads no member', async () => {
    expect((await match(partner, { ...ANN, given: 'Anna' })).status).toBe(422)
    expect((await partner.get('/Patient/ann')).status).toBe(403)
  })
})
