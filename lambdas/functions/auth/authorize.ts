/** The pages of the authorization server: login, choice of a patient, consent, account, logout. */
import { passwordCheck } from '../../auth/login/password-check.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import { pageEndpoints } from '../../auth/pages/page-endpoints.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { decidable } from '../../runtime/authorization/condition-support.ts'
import { patientFinder } from '../../runtime/authorization/patient-finder.ts'
import { authenticating, patientsOf, revocations, users } from '../../runtime/aws/authorization.ts'
import { httpHandler, unaskedParts } from '../../runtime/aws/http-handler.ts'
import { blobs, clock, expressions, places, reading, resources, seal, store } from '../../runtime/aws/ports.ts'
import { index } from '../../runtime/aws/search-index.ts'

const readingNow = (tenant: string) => reading().now(tenant)
const patients = patientFinder({
  resources: store(),
  patientsOf,
  ports: { resources: resources(), index: index(), clock: clock(), seal: seal(), blobs: blobs(), expressions: expressions() },
  knownTenants: store(),
  baseUrl: places().baseUrl,
  reading: readingNow,
})

const ports = {
  ...authenticating(),
  users: users(),
  revocations: revocations(),
  checkPassword: passwordCheck({ users: users(), passwords: new Passwords() }),
  patients,
  isDecidable: decidable(readingNow),
  seal: seal(),
}

export const handler = httpHandler({
  endpoints: pageEndpoints(ports),
  steps: authorizingSteps(unaskedParts()),
  reading: reading(),
  seal: seal(),
})
