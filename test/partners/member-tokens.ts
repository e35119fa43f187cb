/** Access tokens of partners with a member in context. */
import { createAccessToken } from '../../lambdas/auth/tokens/access-token.ts'
import { openAdministration } from '../../lambdas/runtime/control/administration.ts'
import type { TestClient } from '../api/server.ts'
import type { SettingsServer } from '../api/settings-tried/setting-server.ts'

/** Token of a registered partner. `scopes`: absent: all scopes of partners. `limits`: limits of the member's data; absent: none. */
export type MemberToken = {
  readonly id: string
  readonly patient: string
  readonly scopes?: readonly string[]
  readonly tenant?: string
  readonly limits?: object
}

/** Returns the client with a token for one member, whether or not the partner matched the member. */
export async function memberClientOf(
  server: SettingsServer,
  { id, patient, scopes = ['system/*.rs'], tenant, limits }: MemberToken,
): Promise<TestClient> {
  const administration = await openAdministration(server.folder, { isNew: false })
  try {
    const client = (await administration.clients.get(id))!
    const choices = { tenancy: tenant !== undefined, tenantClaim: 'tenant', pkce: 'accept', organizationName: '' } as const
    const { token } = await createAccessToken(
      { ...administration, choices },
      {
        ...{ client, by: 'assertion', baseUrl: 'http://127.0.0.1/fhir', subject: id, sid: 'member', scopes, acr: '1' },
        tenants: tenant === undefined ? [] : [tenant],
        about: { patient, member_limits: { at: Date.now(), ...limits } },
      },
    )
    return server.as(token)
  } finally {
    await administration.close()
  }
}
