/** Patients of tokens, for the token endpoint. Separate from authorization.ts, so that no other bundle contains this code. */

import { VersionReader } from '../../adapters/dynamodb/store/reader.ts'
import type { AuthPorts, PartnerMembers } from '../../auth/endpoint.ts'
import { once } from '../once.ts'
import { baseSearchContext, blobs, clock, config, disclosureRecords, resourceTable, searchContexts, store } from './ports.ts'
import { latestSearches } from './search-index.ts'

/** Whether a token may read a stored Patient. Loads its code at the first call, because only token exchanges need it. */
export const mayReadPatient: AuthPorts['mayReadPatient'] = async (token, id) => (await visibilityOf())(token, id)

const visibilityOf = /* @__PURE__ */ once(async () => {
  const { patientVisibility } = await import('../authorization/patient-visibility.ts')
  return patientVisibility({ resources: new VersionReader(resourceTable(), blobs(), clock()), reading: baseSearchContext })
})

/** Members in context of the tokens of partners. Loads its code at the first call, because few clients are partners. */
export const partnerMembers: PartnerMembers = {
  find: async (...asked) => (await membersOf()).find(...asked),
  limitsOf: async (...asked) => (await membersOf()).limitsOf(...asked),
}

const membersOf = /* @__PURE__ */ once(async () => {
  const { partnerMembers: of } = await import('../authorization/partner-members.ts')
  const reading = (tenant: string) => searchContexts().of(tenant, clock().now())
  return of({
    reading,
    heads: (...asked) => store().heads(...asked),
    index: latestSearches,
    config: config(),
    clock: clock(),
    disclosures: disclosureRecords(),
  })
})
