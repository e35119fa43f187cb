/**
 * Grant of a user to a client. Codes and refresh tokens refer to it. All its tokens carry its `sid`, so that one revocation covers them.
 */
export type UserGrant = {
  readonly client: string
  /** Registration time of the client. A grant to an earlier client with the same id is not valid for this one. */
  readonly registeredAt?: number
  /** Credential generations of the client and the user when the user granted access. */
  readonly generations?: { readonly client?: string; readonly user?: string }
  /** Login name. After a removal another user may be registered with it. */
  readonly user: string
  /** Subject of the user, which is never assigned to another user. */
  readonly subject: string
  readonly sid: string
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  /** Id of the patient in context, without the resource type. */
  readonly patient?: string
  /** Id of the encounter in context, without the resource type. */
  readonly encounter?: string
  /** Whether the app must display the patient's identity, because nothing around the app displays it. */
  readonly banner: boolean
  /** Login time of the user, in seconds since 1970. */
  readonly authTime: number
  /** Key of the session in which the user granted access. Refresh tokens for `online_access` end with it. */
  readonly session: string
}
