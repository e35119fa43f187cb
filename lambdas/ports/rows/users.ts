/**
 * Who logs in on the pages of the authorization server.
 *
 * Guarantees: as of Clients.
 */
export type User = {
  /** What is typed, in lower case: `[a-z0-9._@+-]{1,128}`. */
  readonly name: string
  /** A random id that stays: `sub` of tokens. */
  readonly subject: string
  /** `scrypt$N$r$p$salt$hash`, both base64url. */
  readonly password: string
  /** `Practitioner/1`, `Patient/1`: the user as a resource. http://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data */
  readonly fhirUser?: string
  /** Which are this user's; `*`: any. */
  readonly tenants: readonly string[]
  /** Never exceeded by a token of this user. */
  readonly scopes: readonly string[]
  /** As of a client. */
  readonly generation?: string
  /** Milliseconds since 1970: of the last change. */
  readonly changedAt: number
}

export interface Users {
  get(name: string): Promise<User | undefined>
  /** In the order of their names. */
  list(): Promise<readonly User[]>
  /** As of Clients. */
  change(name: string, change: (user: User | undefined) => User | undefined): Promise<User | undefined>
}

export const isUserName = (text: string): boolean => text.length <= 128 && /^[a-z0-9._@+-]+$/.test(text)
