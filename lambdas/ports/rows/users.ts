/**
 * Users of the login pages of the authorization server.
 *
 * Guarantees: the same as for Clients.
 */
export type User = {
  /** Login name in lower case: `[a-z0-9._@+-]{1,128}`. */
  readonly name: string
  /** Random id that never changes. It is `sub` of the user's tokens. */
  readonly subject: string
  /** Hash of the password: `scrypt$N$r$p$salt$hash`, with salt and hash in base64url. */
  readonly password: string
  /**
   * Reference to the resource that describes the user, such as `Practitioner/1` or `Patient/1`.
   * http://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data
   */
  readonly fhirUser?: string
  /** Tenants of the user; `*` stands for all. */
  readonly tenants: readonly string[]
  /** Scopes that limit the tokens of the user: a client gets no scope that they do not cover. */
  readonly scopes: readonly string[]
  /**
   * Credential generation: a random id that changes with each change that revokes everything issued before. Absent for users from before
   * this field existed.
   */
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
