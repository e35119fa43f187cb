/** An app of a member searches claims, coverages and authorizations, with the search parameters of CARIN BB and PDex. */
import { describe, expect, it } from '@jest/globals'
import type { TestClient, Tree } from '../api/server.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { profile } from '../fixtures/packages.ts'
import {
  addClaimGuides,
  CLAIM_SEARCHES,
  coverage,
  EVERYTHING,
  INCLUDE_SEARCHES,
  MEMBER,
  storeRecord,
} from '../fixtures/payer/member-record.ts'
import { memberClientOf } from './member-tokens.ts'

const STRICT = { prefer: 'handling=strict' }

const US_CORE_COVERAGE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-coverage'
const CARIN_URL = 'http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-Coverage'
/** Profile with one rule of C4BB-Coverage that US Core does not have. */
const CARIN_COVERAGE: Tree = {
  ...profile('C4BB-Coverage', '2.2.0', [{ id: 'Coverage.subscriberId', path: 'Coverage.subscriberId', min: 1 }]),
  ...{ url: CARIN_URL, type: 'Coverage', baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Coverage' },
}

/** Returns `Type/id` of each entry, sorted, or the status if it is another than 200. */
async function foundBy(member: TestClient, query: string): Promise<readonly string[] | number> {
  const { status, body } = await member.get(`/${query}`, STRICT)
  return status === 200 ? (body.entry ?? []).map(({ resource }: Tree) => `${resource.resourceType}/${resource.id}`).toSorted() : status
}

const withGuides = async (settings: Readonly<Record<string, string>>, proof: (server: SettingsServer) => Promise<void>): Promise<void> => {
  const folder = newFolder()
  await addClaimGuides(folder, [CARIN_COVERAGE])
  await withSettings(settings, proof, { folder })
}

const withMember = (proof: (member: TestClient) => Promise<void>): Promise<void> =>
  withGuides({}, async (server) => {
    await storeRecord(server)
    await server.register('app', { scopes: ['patient/*.rs'] })
    await proof(await memberClientOf(server, { id: 'app', patient: MEMBER, scopes: ['patient/*.rs'] }))
  })

describe('the app of a member', () => {
  it('finds its claims and authorizations by each parameter, alone and with its patient', () =>
    withMember(async (member) => {
      for (const [query, found] of CLAIM_SEARCHES) expect([query, await foundBy(member, query)]).toEqual([query, found])
    }))

  it('receives the resources that its claims and coverages refer to, and their Provenance', () =>
    withMember(async (member) => {
      for (const [query, found] of INCLUDE_SEARCHES) expect([query, await foundBy(member, query)]).toEqual([query, found])
    }))

  it('receives all of it by $everything, and nothing of others', () =>
    withMember(async (member) => {
      expect(await foundBy(member, `Patient/${MEMBER}/$everything`)).toEqual(EVERYTHING)
    }))
})

describe('a Coverage that names a US Core and a CARIN profile', () => {
  const named: Tree = {
    ...coverage('both', 'Patient1'),
    meta: { profile: [US_CORE_COVERAGE, `${CARIN_URL}|2.2.0`] },
    identifier: [{ type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MB' }] }, value: '1' }],
  }
  const relationship = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/subscriber-relationship', code: 'self' }] }

  it.each<[what: string, fields: Tree, violated: readonly string[]]>([
    ['neither', {}, [CARIN_URL, US_CORE_COVERAGE]],
    ['US Core', { relationship }, [CARIN_URL]],
    ['CARIN', { subscriberId: '1' }, [US_CORE_COVERAGE]],
    ['both', { relationship, subscriberId: '1' }, []],
  ])('is checked against both if it conforms to %s', (_, fields, violated) =>
    withGuides({ FHIR_VALIDATE_PROFILES: 'enforce' }, async (server) => {
      const stored = { ...named, ...fields }
      const violatedIn = ({ issue = [] }: Tree): readonly string[] => {
        const errors = issue.filter(({ severity }: Tree) => severity === 'error').map((each: Tree) => JSON.stringify(each))
        return [CARIN_URL, US_CORE_COVERAGE].filter((url) => errors.some((error: string) => error.includes(url)))
      }
      const { body } = await server.post('/Coverage/$validate', stored)
      expect(violatedIn(body)).toEqual(violated)
      const written = await server.put('/Coverage/both', stored)
      expect([written.status, violatedIn(written.body)]).toEqual([violated.length === 0 ? 201 : 422, violated])
    }),
  )
})
