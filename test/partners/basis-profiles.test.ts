/** Partners receive claims that name the Basis profiles of CARIN, if their package was added. http://hl7.org/fhir/us/carin-bb/ */
import { describe, expect, it } from '@jest/globals'
import { addPackage, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { CLAIM_PAIRS } from '../fixtures/payer/claims.ts'
import { archiveOf, CLAIM_PROFILES, guideOf } from '../fixtures/payer/guides.ts'
import { referenceTo } from '../fixtures/resources.ts'
import { memberClientOf } from './member-tokens.ts'
import { ANN, exportResultOf, match, membersBundle, onlyGroup, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }
const ALL_YEARS = { FHIR_PAYER_WINDOW_YEARS: '100' }

const CLAIMS: readonly Tree[] = CLAIM_PAIRS.map(([whole]) => ({ ...whole, patient: referenceTo('Patient/ann') }))

/** Returns the data folder of a server that was closed, with the profiles of claims. So the next server has them from its start. */
async function folderWithProfiles(profiles: readonly Tree[]): Promise<string> {
  const folder = newFolder()
  await withSettings({}, async () => {}, { folder })
  const packages = await openPackages(folder)
  try {
    await addPackage(packages, { file: await archiveOf({ ...guideOf('carin-bb@2.2.0'), resources: [] }, profiles) })
  } finally {
    await packages.close()
  }
  return folder
}

async function withClaims(profiles: readonly Tree[], proof: (server: SettingsServer, partner: TestClient) => Promise<void>): Promise<void> {
  const prove = async (server: SettingsServer): Promise<void> => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    for (const claim of CLAIMS) expect((await server.put(`/ExplanationOfBenefit/${claim.id}`, claim)).status).toBe(201)
    await proof(server, await partnerOf(server))
  }
  await withSettings({ ...PAYER_SETTINGS, ...ALL_YEARS }, prove, { folder: await folderWithProfiles(profiles) })
}

async function exportedClaims(partner: TestClient): Promise<readonly Tree[]> {
  expect((await match(partner, ANN)).status).toBe(200)
  const { id } = await onlyGroup(partner)
  const begun = await partner.get(`/Group/${id}/$davinci-data-export?_type=ExplanationOfBenefit`, ASYNC)
  const { lines } = await exportResultOf(partner, begun)
  const own = lines.filter(({ resourceType, id }) => resourceType === 'ExplanationOfBenefit' && id !== 'claim-ann')
  return own.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

const errorsOf = async (server: SettingsServer, claim: Tree): Promise<readonly Tree[]> =>
  (await server.post('/ExplanationOfBenefit/$validate', claim)).body.issue.filter(({ severity }: Tree) => severity === 'error')

const basisOf = ([profile, version]: readonly string[]): string => `${profile}-Basis|${version}`

describe('a claim for a partner', () => {
  it('claims the Basis profile of its kind, and is valid against it if the whole claim is valid', () =>
    withClaims(CLAIM_PROFILES, async (server, partner) => {
      const claims = await exportedClaims(partner)
      expect(claims.map(({ id }) => id)).toEqual(CLAIMS.map(({ id }) => id).toSorted())
      const valid: string[] = []
      for (const [i, whole] of CLAIMS.toSorted((a, b) => (a.id < b.id ? -1 : 1)).entries()) {
        expect(claims[i]!.meta.profile).toEqual(whole.meta.profile.map((profile: string) => basisOf(profile.split('|'))))
        if ((await errorsOf(server, whole)).length > 0) continue
        valid.push(whole.id)
        expect([whole.id, await errorsOf(server, claims[i]!)]).toEqual([whole.id, []])
        // The amounts are missing in the claim of the partner, so the check against the whole profile must fail.
        expect(await errorsOf(server, { ...claims[i]!, meta: { profile: whole.meta.profile } })).not.toEqual([])
      }
      expect(valid).toHaveLength(CLAIMS.length)
      const member = await memberClientOf(server, { id: 'payer', patient: 'ann' })
      const shown = await Promise.all(claims.map(async ({ id }) => (await member.get(`/ExplanationOfBenefit/${id}`)).body))
      expect(shown.map(({ meta }) => meta.profile)).toEqual(claims.map(({ meta }) => meta.profile))
    }))

  it.each([
    ['is of another version', CLAIM_PROFILES.map((each) => ({ ...each, version: '2.1.0' }))],
    ['is not loaded', CLAIM_PROFILES.filter(({ url }) => !url.endsWith('-Basis'))],
  ])('claims no profile if its Basis profile %s', (_, profiles) =>
    withClaims(profiles, async (_, partner) => {
      expect((await exportedClaims(partner)).map(({ meta }) => meta.profile)).toEqual(CLAIMS.map(() => undefined))
    }),
  )
})
