/**
 * Users of the login pages of the authorization server.
 *
 * Guarantees: the same as for Clients.
 */
export type User = {
  /** Login name, in lower case: `[a-z0-9._@+-]{1,128}`. */
  readonly name: string
  /** Random id that never changes: `sub` of tokens. */
  readonly subject: string
  /** `scrypt$N$r$p$salt$hash`; salt and hash are base64url. */
  readonly password: string
  /**
   * `Practitioner/1`, `Patient/1`: the resource that describes the user.
   * http://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data
   */
  readonly fhirUser?: string
  /** Tenants of the user; `*` stands for all. */
  readonly tenants: readonly string[]
  /** Maximum scopes: no token of this user has others. */
  readonly scopes: readonly string[]
  /** Credential generation, with the same meaning as for a client. */
  readonly generation?: string
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedAt: number
}

export interface Users {
  get(name: string): Promise<User | undefined>
  /** Returns the users in the order of their names. */
  list(): Promise<readonly User[]>
  /** Changes, adds or removes a user, with the rules of `Clients.change`. */
  change(name: string, change: (user: User | undefined) => User | undefined): Promise<User | undefined>
}

export const isUserName = (text: string): boolean => text.length <= 128 && /^[a-z0-9._@+-]+$/.test(text)
