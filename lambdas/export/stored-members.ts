/** Stored data of members, as the steps of exports and matches read it. */
import type { MemberData } from '../partners/member-data.ts'
import type { ExportParts } from './step-types.ts'

export async function storedMembersOf(
  { resources, index, readingOf }: Pick<ExportParts, 'resources' | 'index' | 'readingOf'>,
  tenant: string,
): Promise<MemberData> {
  return { tenant, index, reading: await readingOf(tenant), heads: (...keys) => resources.heads(...keys) }
}
