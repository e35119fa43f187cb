/** Stored members: an index and current versions in memory. */
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import type { MemberData } from '../../lambdas/partners/member-data.ts'
import type { SearchIndex } from '../../lambdas/ports/search/search-index.ts'
import type { ResourceVersion } from '../../lambdas/ports/store/resource-store.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { referenceTo, type Tree } from '../fixtures/resources.ts'
import { deletionOf, resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

export const BASE_URL = 'https://payer.example/fhir'
const READING = { baseUrl: BASE_URL }
const TENANT = 't'

export type StoredMembers = MemberData & { readonly index: SqliteSearchIndex }

/** `deleted`: resources that are deleted after the index found them. */
export async function memberStoreOf(stored: readonly Tree[], deleted: readonly string[] = []): Promise<StoredMembers> {
  const index = new SqliteSearchIndex(':memory:')
  runAtEnd(() => index.close())
  return membersOn(index, stored, deleted)
}

/** Stores resources for an index of any kind. */
export async function membersOn<Index extends MemberData['index'] & Pick<SearchIndex, 'apply'>>(
  index: Index,
  stored: readonly Tree[],
  deleted: readonly string[] = [],
): Promise<MemberData & { readonly index: Index }> {
  const versions = stored.map((body) => versionOf(writeOf(resourceKeyOf(TENANT, body.resourceType, body.id), { body })))
  await index.apply(versions.map((version, i) => extract(version, stored[i]!, READING)))
  const heads = new Map<string, ResourceVersion>(versions.map((version) => [`${version.type}/${version.id}`, version]))
  for (const key of deleted) {
    const { tenant, type, id } = heads.get(key)!
    heads.set(key, versionOf(deletionOf({ tenant, type, id }, { expected: 1 })))
  }
  return { tenant: TENANT, reading: READING, index, heads: async (keys) => keys.map(({ type, id }) => heads.get(`${type}/${id}`)) }
}

export const CARD_SYSTEM = 'http://example.org/old-payer'
const MB = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MB' }] }

export const memberNumber = (value: string, system: string | undefined = CARD_SYSTEM): Tree => ({ type: MB, system, value })

export const coverageOf = (id: string, patient: string, fields: Tree = { identifier: [memberNumber(`N-${patient}`)] }): Tree => ({
  resourceType: 'Coverage',
  id,
  status: 'active',
  beneficiary: referenceTo(`Patient/${patient}`),
  payor: [{ display: 'Payer' }],
  ...fields,
})

/** Parameters of `$member-match`. */
export const matchRequestOf = (parts: Readonly<Record<string, unknown>>): Tree => ({
  resourceType: 'Parameters',
  parameter: Object.entries(parts).map(([name, resource]) => ({ name, resource })),
})
