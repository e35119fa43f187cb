/** Grant of a user to a client. Codes and refresh tokens refer to it. All its tokens carry its `sid`, which revokes them. */
export type UserGrant = {
  readonly client: string
  /** Registration time of the client. A grant to a previous client of the same id is not valid for the current one. */
  readonly registeredAt?: number
  /** Credential generations of the client and the user when the user granted access. */
  readonly generations?: { readonly client?: string; readonly user?: string }
  /** `user`: name, which can be registered again after a removal. `subject`: stays with one user, and is never assigned again. */
  readonly user: string
  readonly subject: string
  readonly sid: string
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  /** Ids without resource types. */
  readonly patient?: string
  readonly encounter?: string
  /** Whether the app must display the patient's identity, because nothing around the app displays it. */
  readonly banner: boolean
  /** Login time of the user, in seconds since 1970. */
  readonly authTime: number
  /** Key of the session in which the user granted access. Online access ends with this session. */
  readonly session: string
}
