/** The grant of a user to a client. Codes and refresh tokens refer to it. All its tokens carry its `sid`, which revokes them. */
export type UserGrant = {
  readonly client: string
  /** Of the client: what an earlier one of its id was granted is not its own. */
  readonly registeredAt?: number
  /** Of the client and the user, as they were when it was granted. */
  readonly generations?: { readonly client?: string; readonly user?: string }
  /** The name, and what stays of a user when a name is given again. */
  readonly user: string
  readonly subject: string
  readonly sid: string
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  /** Ids, without their types. */
  readonly patient?: string
  readonly encounter?: string
  /** Whether the app shows who the patient is: nobody else does. */
  readonly banner: boolean
  /** Seconds since 1970: when the user logged in. */
  readonly authTime: number
  /** The key of the session it was granted in: online access ends with it. */
  readonly session: string
}
