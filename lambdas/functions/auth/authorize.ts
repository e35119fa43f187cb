/** Pages of the authorization server: login, patient selection, consent, account, logout. */
import { passwordCheck } from '../../auth/login/password-check.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import { pageEndpoints } from '../../auth/pages/page-endpoints.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { decidabilityCheck } from '../../runtime/authorization/condition-support.ts'
import { patientFinder } from '../../runtime/authorization/patient-finder.ts'
import { clientAuthenticationPorts, patientsOf, revocations, users } from '../../runtime/aws/authorization.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'
import { blobs, clock, deploymentSettings, expressions, resources, seal, searchContexts, store } from '../../runtime/aws/ports.ts'
import { index } from '../../runtime/aws/search-index.ts'

const readingNow = (tenant: string) => searchContexts().of(tenant, clock().now())
const patients = patientFinder({
  resources: store(),
  patientsOf,
  ports: { resources: resources(), index: index(), clock: clock(), seal: seal(), blobs: blobs(), expressions: expressions() },
  knownTenants: store(),
  baseUrl: deploymentSettings().baseUrl,
  reading: readingNow,
})

const ports = {
  ...clientAuthenticationPorts(),
  users: users(),
  revocations: revocations(),
  checkPassword: passwordCheck({ users: users(), passwords: new Passwords() }),
  patients,
  isDecidable: decidabilityCheck(readingNow),
  seal: seal(),
}

export const handler = httpHandler<'authorize'>({
  endpoints: pageEndpoints(ports),
  steps: authorizingSteps(publicStepParts()),
  reading: searchContexts(),
  seal: seal(),
})
