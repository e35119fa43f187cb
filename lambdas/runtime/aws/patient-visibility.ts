/** Check of the patients that a token may read, for the token endpoint. It is not in authorization.ts, so that no other bundle contains it. */

import { VersionReader } from '../../adapters/dynamodb/store/reader.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { once } from '../once.ts'
import { baseSearchContext, blobs, clock, resourceTable } from './ports.ts'

/** Whether a token may read a stored Patient. Loads its code at the first call, because only token exchanges need it. */
export const mayReadPatient: AuthPorts['mayReadPatient'] = async (token, id) => (await visibilityOf())(token, id)

const visibilityOf = /* @__PURE__ */ once(async () => {
  const { patientVisibility } = await import('../authorization/patient-visibility.ts')
  return patientVisibility({ resources: new VersionReader(resourceTable(), blobs(), clock()), reading: baseSearchContext })
})
