/** Another payer matches a member who consented, and exports her record, at the embedded server. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { runFhir } from '../bin/process.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  ANN,
  BERT,
  byType,
  EXPORT_TYPE,
  expectRecordWithoutAmounts,
  match,
  matchInput,
  membersBundle,
  OTHER,
  OWN,
  onlyGroup,
  PAYER_SETTINGS,
  partnerOf,
  provisionFor,
} from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

const withPayer = (proof: (server: SettingsServer, partner: TestClient) => Promise<void>, more = {}): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, ...more }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    await proof(server, await partnerOf(server))
  })

/** Starts an export and returns its manifest. */
async function manifestOf(partner: TestClient, path: string): Promise<Tree> {
  const begun = await partner.get(path, ASYNC)
  expect([begun.status, begun.text]).toEqual([202, ''])
  const job = begun.headers.get('content-location')!
  return (await eventually(() => partner.get(job), { until: ({ status }) => status !== 202, every: 20 })).body
}

async function linesOf(partner: TestClient, files: readonly Tree[]): Promise<readonly Tree[]> {
  const texts = await Promise.all(files.map(async ({ url }) => (await partner.get(url)).text))
  return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line))
}

async function exportOf(partner: TestClient, path: string): Promise<readonly Tree[]> {
  const { output, error } = await manifestOf(partner, path)
  expect(error).toEqual([])
  return linesOf(partner, output)
}

describe('a payer that is a partner', () => {
  it('matches a member with a Consent, and exports the record without amounts', () =>
    withPayer(async (server, partner) => {
      const { status, body } = await match(partner, ANN)
      expect([status, body.parameter?.map(({ name }: Tree) => name)]).toEqual([200, ['MemberIdentifier', 'MemberId']])
      expect(body.parameter[0].valueIdentifier.value).toBe('member-ann')
      const group = await onlyGroup(partner)
      expect(group.member.map(({ entity }: Tree) => entity.reference)).toEqual(['Patient/ann'])
      expect((await server.post('/Group/$validate', group)).body.issue.filter(({ severity }: Tree) => severity === 'error')).toEqual([])
      expectRecordWithoutAmounts(
        await exportOf(partner, `/Group/${group.id}/$davinci-data-export?exportType=${encodeURIComponent(EXPORT_TYPE)}`),
      )
      expect((await server.get('/Consent?patient=ann')).body.total).toBe(1)
    }))

  it('records why an export leaves a member out', () =>
    withPayer(async (server, partner) => {
      expect((await match(partner, ANN)).status).toBe(200)
      const { id } = await onlyGroup(partner)
      const { resource } = matchInput(ANN).parameter[2]
      const denial = { ...resource, id: 'denial', patient: { reference: 'Patient/ann' }, provision: { type: 'deny' } }
      expect((await server.put('/Consent/denial', denial)).status).toBe(201)
      await manifestOf(partner, `/Group/${id}/$davinci-data-export`)
      const { out } = await runFhir('disclosures', '--patient', 'ann', '--json', '--data', server.folder)
      const records = out.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
      expect(records.find(({ kind }) => kind === 'export')).toMatchObject({ outcome: 'denied', grounds: [`Group/${id}`] })
    }))

  it('is answered for a match only if its record is stored', () =>
    withPayer(async (server, partner) => {
      const records = join(server.folder, 'disclosures')
      // A file prevents the server from creating the folder.
      await writeFile(records, '')
      expect((await match(partner, ANN)).status).toBe(500)
      await rm(records)
      expect((await match(partner, ANN)).status).toBe(200)
      const { out } = await runFhir('partner', 'matches', 'payer', '--json', '--data', server.folder)
      expect(JSON.parse(out)).toEqual({ matched: 1 })
    }))

  it('leaves a record of each match and export, which one command prints', () =>
    withPayer(async (server, partner) => {
      expect((await match(partner, ANN)).status).toBe(200)
      for (const wrong of [{ ...ANN, card: 'W-0003' }, BERT]) await match(partner, wrong, wrong === BERT ? { status: 'rejected' } : {})
      const { id } = await onlyGroup(partner)
      const { output } = await manifestOf(partner, `/Group/${id}/$davinci-data-export`)
      const records = async (...args: readonly string[]) => {
        const { code, out } = await runFhir(...args, '--json', '--data', server.folder)
        expect(code).toBe(0)
        return out.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
      }
      const [matched, exported, ...more] = (await records('disclosures', '--partner', 'payer', '--patient', 'ann')).toSorted((a, b) =>
        a.kind < b.kind ? 1 : -1,
      )
      const common = { tenant: 'default', partner: 'payer', patient: 'Patient/ann' }
      expect(matched).toMatchObject({ ...common, kind: 'match', outcome: 'matched', grounds: expect.arrayContaining([`Group/${id}`]) })
      const counts = Map.groupBy(output as readonly Tree[], ({ type }) => type)
      const types = Object.fromEntries([...counts].map(([type, files]) => [type, files.reduce((sum, { count }) => sum + count, 0)]))
      expect(exported).toMatchObject({ ...common, kind: 'export', outcome: 'exported', grounds: [`Group/${id}`], exportType: EXPORT_TYPE })
      const { at, windowStart } = exported
      expect(Number(at.slice(0, 4)) - Number(windowStart.slice(0, 4))).toBe(5)
      expect([more, exported.types, types.Patient, types.Provenance]).toEqual([[], types, 1, 1])
      expect(await records('disclosures', '--job', exported.job)).toEqual([exported])
      expect(await records('partner', 'matches', 'payer')).toEqual([{ matched: 1, 'no match': 1, 'consent not complied with': 1 }])
      const year = String(new Date().getUTCFullYear())
      const [{ partners }] = await records('usage', '--year', year)
      expect(partners).toEqual([{ partner: 'payer', requests: 4, matched: 1, exported: 1 }])
      expect((await runFhir('usage', '--year', year, '--data', server.folder)).out).toMatch(/\npayer +4 +1 +1\n$/)
      const { out } = await runFhir('disclosures', '--patient', 'ann', '--data', server.folder)
      const [head, ...lines] = out.trimEnd().split('\n').map((line) => line.split(/ {2,}/)) // biome-ignore format: one line
      expect([head?.slice(0, 6), lines.map((cells) => cells.slice(1, 6))]).toEqual([
        ['AT', 'KIND', 'PARTNER', 'TENANT', 'PATIENT', 'OUTCOME'],
        [
          ['match', 'payer', 'default', 'Patient/ann', 'matched'],
          ['export', 'payer', 'default', 'Patient/ann', 'exported'],
        ],
      ])
      const withRule = (await runFhir('disclosures', '--partner', 'payer', '--data', server.folder)).out
      expect(withRule).toContain('  consent not complied with (status)  ')
      const nothing = await runFhir('disclosures', '--patient', 'bert', '--data', server.folder)
      expect(nothing).toEqual({ code: 0, out: '', err: 'fhir: no disclosure matches\n' })
    }))

  it('receives a Provenance that names the payer as transmitter', () =>
    withPayer(async (server, partner) => {
      expect((await match(partner, ANN)).status).toBe(200)
      const { id } = await onlyGroup(partner)
      const lines = await exportOf(partner, `/Group/${id}/$davinci-data-export`)
      const [provenance, ...more] = lines.filter(({ resourceType }) => resourceType === 'Provenance')
      expect([provenance?.target, provenance?.agent[0].who.identifier, more]).toEqual([[{ reference: 'Patient/ann' }], OWN, []])
      expect((await server.get('/Provenance')).body.total).toBe(0)
      expect(
        (await server.post('/Provenance/$validate', provenance)).body.issue.filter(({ severity }: Tree) => severity === 'error'),
      ).toEqual([])
    }))

  it('stores the same Consent once, and a Group for each match', () =>
    withPayer(async (server, partner) => {
      for (let i = 0; i < 2; i++) expect((await match(partner, ANN)).status).toBe(200)
      expect([(await server.get('/Consent')).body.total, (await partner.get('/Group')).body.total]).toEqual([1, 2])
    }))

  it('reads and searches no other type, and writes nothing', () =>
    withPayer(async (_, partner) => {
      expect((await match(partner, ANN)).status).toBe(200)
      const group = await onlyGroup(partner)
      for (const path of [
        '/Patient/ann',
        '/Patient',
        '/ExplanationOfBenefit/claim-ann',
        '/Coverage',
        '/Consent',
        '/Patient/ann/$everything',
      ])
        expect([path, (await partner.get(path)).status]).toEqual([path, 403])
      for (const path of ['/', '/_history'])
        expect([path, (await partner.get(path)).body?.entry ?? []]).toEqual([
          path,
          expect.not.arrayContaining([expect.objectContaining({ resource: expect.objectContaining({ resourceType: 'Patient' }) })]),
        ])
      expect((await partner.put(`/Group/${group.id}`, group)).status).toBe(403)
      expect((await partner.post('/Patient', { resourceType: 'Patient' })).status).toBe(403)
    }))

  it('sees no Group that it did not match and that does not name it', () =>
    withPayer(async (server, partner) => {
      const members = { type: 'person', actual: true, member: [{ entity: { reference: 'Patient/bert' } }] }
      await server.put('/Group/foreign', { resourceType: 'Group', id: 'foreign', ...members })
      await server.put('/Group/named', { resourceType: 'Group', id: 'named', ...members, identifier: [OTHER] })
      expect((await onlyGroup(partner)).id).toBe('named')
      expect([
        (await partner.get('/Group/foreign')).status,
        (await partner.get('/Group/foreign/$davinci-data-export', ASYNC)).status,
      ]).toEqual([404, 404])
      expect((await manifestOf(partner, '/Group/named/$davinci-data-export')).output).toEqual([])
      const { resource } = matchInput(BERT).parameter[2]
      await server.put('/Consent/bert', { ...resource, id: 'bert', patient: { reference: 'Patient/bert' } })
      const exported = await exportOf(partner, '/Group/named/$davinci-data-export')
      expect(exported.filter(({ resourceType }) => resourceType === 'Patient').map(({ id }) => id)).toEqual(['bert'])
    }))

  it.each([
    ['a stranger', { ...ANN, birthDate: '1974-12-24' }, {}, 422, 'not-found'],
    ['a wrong card', { ...ANN, card: 'W-0003' }, {}, 422, 'not-found'],
    ['an inactive Consent', ANN, { status: 'rejected' }, 422, 'business-rule'],
    ['a Consent for another payer', ANN, { provision: provisionFor(OWN) }, 422, 'business-rule'],
  ])('is answered %s: 422, and stores nothing', (_, member, consent, status, code) =>
    withPayer(async (server, partner) => {
      const answer = await match(partner, member, consent)
      expect([answer.status, answer.body.issue[0].code]).toEqual([status, code])
      expect(answer.text).not.toContain('ann')
      expect([(await server.get('/Consent')).body.total, (await server.get('/Group')).body.total]).toEqual([0, 0])
    }),
  )

  it('is answered like for a stranger if the member denied', () =>
    withPayer(async (server, partner) => {
      const provision = { type: 'deny' }
      const { resource } = matchInput(ANN).parameter[2]
      await server.put('/Consent/denial', { ...resource, id: 'denial', patient: { reference: 'Patient/bert' }, provision })
      const [denied, stranger] = [await match(partner, BERT), await match(partner, { ...BERT, given: 'Bob' })]
      expect([denied.status, denied.body]).toEqual([422, stranger.body])
    }))

  it('learns of a type that is not exported from the file of errors', () =>
    withPayer(async (_, partner) => {
      expect((await match(partner, ANN)).status).toBe(200)
      const { id } = await onlyGroup(partner)
      const { output, error } = await manifestOf(partner, `/Group/${id}/$davinci-data-export?_type=Claim,Coverage`)
      const [outcome] = await linesOf(partner, error)
      expect([byType(await linesOf(partner, output)), outcome?.issue[0].details?.text]).toEqual([
        { Coverage: ['coverage-ann'], Patient: ['ann'], Provenance: [expect.any(String)] },
        '_type names Claim, which is no type of this export',
      ])
    }))

  it('exports no type that it may not ask for', () =>
    withPayer(async (server, partner) => {
      expect((await match(partner, ANN)).status).toBe(200)
      const { id } = await onlyGroup(partner)
      const statusOf = async (client: TestClient, query: string) =>
        (await client.get(`/Group/${id}/$davinci-data-export${query}`, ASYNC)).status
      const another = await partnerOf(server, 'provider')
      expect(await statusOf(partner, '?exportType=hl7.fhir.us.davinci-pdex%23nothing')).toBe(400)
      expect(await statusOf(partner, '?exportType=a&exportType=b')).toBe(400)

      expect(await statusOf(server, '')).toBe(400)
      expect(await statusOf(another, '')).toBe(404)
      expect(await statusOf(another, `?exportType=${encodeURIComponent(EXPORT_TYPE)}`)).toBe(403)
    }))
})

describe('other clients', () => {
  it('match no member unless they may read all data', () =>
    withPayer(async (server) => {
      const secret = await server.register('app', { scopes: ['system/Patient.rs'] })
      const { body } = await server.token({ grant_type: 'client_credentials', client_id: 'app', client_secret: secret })
      expect((await match(server.as(body.access_token), ANN)).status).toBe(403)
      expect((await match(await partnerOf(server, 'provider'), ANN)).status).toBe(403)
      expect((await match(server, ANN)).status).toBe(200)
    }))

  it.each([
    ['may read and search all data', 'system/*.rs', 404],
    ['may only read', 'system/*.r', 403],
    ['may only search', 'system/*.s', 403],
  ])('start exports for partners if they %s', (_, scope, status) =>
    withPayer(
      async (server) => {
        const secret = await server.register('app', { scopes: [scope] })
        const { body } = await server.token({ grant_type: 'client_credentials', client_id: 'app', client_secret: secret })
        const path = `/Group/missing/$davinci-data-export?exportType=${encodeURIComponent(EXPORT_TYPE)}`
        expect((await server.as(body.access_token).get(path, ASYNC)).status).toBe(status)
      },
      { FHIR_EXPORT_NEEDS_ASSERTION: 'off' },
    ),
  )
})
