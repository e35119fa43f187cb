/** Selects the granted scopes: never more than the client is registered for, and for a user never more than the user may access. */
import { operationScopesOf } from '../../access/operation-scopes.ts'
import {
  ADMIN_SCOPE,
  findTypeOverLimit,
  MAX_CONDITIONS_PER_TYPE,
  narrowScopes,
  parseScope,
  type ScopeContext,
  scopeTextOf,
  splitScopes,
} from '../../access/scopes.ts'
import { isTenantBoundUser } from '../../access/user-patients.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { toDescriptionList, toDescriptionText } from '../request-parameters.ts'

/**
 * Maximum characters of all requested or granted scopes. More are rejected. An access token contains them and travels in a header, and
 * gateways limit all headers to 10,240 bytes.
 */
const LONGEST = 3_000

/** Scopes that have a meaning only if a user logs in. A client without a user never gets them. */
const OF_USERS = new Set(['openid', 'fhirUser', 'profile', 'offline_access', 'online_access', 'launch'])

/**
 * Returns the granted scopes of a client without a user. `asked`: undefined requests all registered scopes except `system/admin`. A partner
 * also gets requested scopes of the matches for its kind. Throws OAuthError `invalid_scope` if no scope is left.
 */
export function grantClientScopes({ scopes, partner }: Client, asked: string | undefined): readonly string[] {
  const wanted = asked === undefined ? scopes.filter((scope) => scope !== ADMIN_SCOPE) : parseRequestedScopes(asked)
  // guard: operation-scopes-of-own-kind
  const operations = partner === undefined ? [] : operationScopesOf(partner.kind)
  return somethingOf(wanted, [
    ...narrowScopes(wanted, scopes).filter((scope) => !OF_USERS.has(scope) && contextOf(scope) !== 'user'),
    ...wanted.filter((scope) => operations.includes(scope)),
  ])
}

/**
 * Returns the granted scopes of a client for this user: requested by the client, registered for it, and covered by the scopes of the user.
 * `system/` scopes are never granted. Throws OAuthError `invalid_scope` if no scope is left.
 *
 * `user/` scopes of a patient or related person reach only their own patients, so `patient/` scopes of the user suffice for them. Granting
 * the result again returns the same scopes.
 */
export function grantUserScopes({ scopes }: Client, user: User, asked: readonly string[]): readonly string[] {
  // guard: user-grant-without-system-scopes
  const own = asked.filter((scope) => contextOf(scope) !== 'system')
  return somethingOf(asked, narrowScopes(narrowScopes(own, scopes), user.scopes, isTenantBoundUser(user.fhirUser) ? 'alike' : 'wider'))
}

/**
 * Returns the scopes of a view: the parts of the `wanted` scopes that `own` covers, for reading and searching only. `system/` is read as
 * `user/`. `own`: scopes of the person. `isIdentified`: whether the person has a `fhirUser`; `user/` scopes of all others reach no patient,
 * so they cover no `patient/` scope. Throws OAuthError `invalid_scope` if no scope is left.
 */
export function grantViewScopes(wanted: readonly string[], own: readonly string[], isIdentified: boolean): readonly string[] {
  const readable = wanted.flatMap((text) => {
    const scope = parseScope(text)
    // guard: view-has-data-scopes-only
    if (scope?.kind !== 'resource') return []
    // guard: view-reads-only
    const letters = scope.letters.filter((letter) => letter === 'r' || letter === 's')
    return letters.length === 0 ? [] : [scopeTextOf({ ...scope, context: scope.context === 'system' ? 'user' : scope.context, letters })]
  })
  // guard: view-is-narrowed-to-the-person
  return somethingOf(wanted, narrowScopes(readable, own, isIdentified ? 'wider' : 'same'))
}

/**
 * Returns the requested scopes that an error must name, or an empty list if the grant is usable. A grant without data scopes is not usable
 * if data scopes were requested: the app would notice that only when it reads.
 */
export function findUngrantedScopes(asked: readonly string[], granted: readonly string[]): readonly string[] {
  if (granted.length === 0) return asked
  return dataOf(granted).length === 0 ? dataOf(asked) : []
}

const dataOf = (scopes: readonly string[]): readonly string[] => scopes.filter((scope) => contextOf(scope) !== undefined)

/**
 * Throws OAuthError `invalid_scope` if the condition of a scope cannot be decided by a resource alone. For `*` one type that can decide it
 * is enough.
 */
export async function checkScopeConditions(
  { isDecidable }: Pick<AuthPorts, 'isDecidable'>,
  scopes: readonly string[],
  tenants: readonly string[],
) {
  for (const text of scopes) {
    const scope = parseScope(text)
    if (scope?.kind !== 'resource' || scope.query === '') continue
    if (!(await isDecidable(tenants, scope.type, scope.query)))
      throw new OAuthError('invalid_scope', `${toDescriptionText(text)} has a condition that a resource alone cannot meet`)
  }
}

export function contextOf(text: string): ScopeContext | undefined {
  const scope = parseScope(text)
  return scope?.kind === 'resource' ? scope.context : undefined
}

/** Returns the distinct scopes of a request. Throws OAuthError `invalid_scope` if the text is longer than `LONGEST`. */
export function parseRequestedScopes(asked: string): readonly string[] {
  if (asked.length > LONGEST) throw new OAuthError('invalid_scope', `The scopes are longer than ${LONGEST} bytes`)
  return splitScopes(asked)
}

export const noScopesGranted = (asked: readonly string[]): OAuthError =>
  new OAuthError('invalid_scope', `None of these scopes can be granted: ${toDescriptionList(asked)}`)

/**
 * Returns the granted scopes. Throws OAuthError `invalid_scope` if there are none, or if they exceed the limits. Granted scopes can be
 * longer and more numerous than the requested ones: each overlap of a requested with an allowed scope is a scope.
 */
function somethingOf(asked: readonly string[], granted: readonly string[]): readonly string[] {
  if (granted.length === 0) throw noScopesGranted(asked)
  if (granted.join(' ').length > LONGEST) throw new OAuthError('invalid_scope', `The scopes are longer than ${LONGEST} bytes`)
  const crowded = findTypeOverLimit(granted)
  if (crowded !== undefined) throw new OAuthError('invalid_scope', tooManyConditions(crowded))
  return granted
}

const tooManyConditions = (type: string): string =>
  `More than ${MAX_CONDITIONS_PER_TYPE} scopes with a condition are for the type ${type}, those of * included: ask for fewer, or list the values of a parameter in one condition`
