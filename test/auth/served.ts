/** The authorization server on a port of this machine. Like its clients, it reads the clock of this machine. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { openAuthenticator } from '../../lambdas/http/authenticators.ts'
import { nodeServer } from '../../lambdas/http/node-server.ts'
import { admission } from '../../lambdas/http/steps/authenticate.ts'
import { type AuthorizationSettings, createAuthorization, type TestAuthorization } from './authorization.ts'

export type AuthServer = {
  readonly auth: TestAuthorization
  readonly base: string
  readonly origin: string
  readonly close: () => Promise<void>
}

export async function startAuthServer(settings: AuthorizationSettings = {}, maxRequests = 100): Promise<AuthServer> {
  let auth: TestAuthorization | undefined
  const http = nodeServer((request, id) => auth!.serve(request, id), {
    ...{
      basePath: '/fhir',
      maxBody: 1_000_000,
      maxRequests,
      newRequestId: () => 'made-id',
      admit: admission({ authenticator: openAuthenticator }),
      report: () => undefined,
    },
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  auth = await createAuthorization({ ...settings, baseUrl: `${origin}/fhir`, loopbackOnly: true, wall: Date.now })
  const close = async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  }
  return { auth, base: `${origin}/fhir`, origin, close }
}
