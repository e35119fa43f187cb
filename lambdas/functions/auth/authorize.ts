/** The pages of the authorization server: login, choice of a patient, consent, account, logout. */
import { pageEndpoints } from '../auth/page-endpoints.ts'
import { passwordCheck } from '../auth/password-check.ts'
import { Passwords } from '../auth/passwords.ts'
import { authorizingSteps } from '../http/pipelines/authorizing.ts'
import { blobs, clock, expressions, places, reading, resources, seal, store } from '../runtime/aws.ts'
import { authenticating, revocations, users } from '../runtime/aws-authorization.ts'
import { httpHandler, unaskedParts } from '../runtime/aws-handler.ts'
import { index } from '../runtime/aws-index.ts'
import { decidable } from '../runtime/decidable.ts'
import { patientFinder } from '../runtime/patient-finder.ts'

const readingNow = (tenant: string) => reading().now(tenant)
const patients = patientFinder({
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
}

export const handler = httpHandler({
  endpoints: pageEndpoints(ports),
  steps: authorizingSteps(unaskedParts()),
  reading: reading(),
  seal: seal(),
})
