/** Which of the scopes that are asked for are granted: what is registered, and never more than the user may. */
import {
  ADMIN_SCOPE,
  findTypeOverLimit,
  MAX_CONDITIONS_PER_TYPE,
  narrowScopes,
  parseScope,
  type ScopeContext,
  splitScopes,
} from '../../access/scopes.ts'
import { isTenantBoundUser } from '../../access/user-patients.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { toDescriptionList, toDescriptionText } from '../request-parameters.ts'

/** Bytes of all texts: a token travels in a header, and those of gateways end at 10,240 bytes. */
const LONGEST = 3_000

/** What makes no sense without a user who logs in. */
const OF_USERS = new Set(['openid', 'fhirUser', 'profile', 'offline_access', 'online_access', 'launch'])

/** Of client_credentials. `asked` undefined: all that is registered, but for the administrator's. OAuthError where nothing is left. */
export function grantClientScopes({ scopes }: Client, asked: string | undefined): readonly string[] {
  const wanted = asked === undefined ? scopes.filter((scope) => scope !== ADMIN_SCOPE) : parseRequestedScopes(asked)
  return somethingOf(
    wanted,
    narrowScopes(wanted, scopes).filter((scope) => !OF_USERS.has(scope) && contextOf(scope) !== 'user'),
  )
}

/**
 * What the client may ask of this user: nothing of the whole system, and nothing it did not ask for. `user/` of who is a patient or cares for some
 * is about those patients only: what is allowed of them bounds it. To grant what was granted grants the same. OAuthError where nothing is left.
 */
export function grantUserScopes({ scopes }: Client, user: User, asked: readonly string[]): readonly string[] {
  // guard: user-grant-without-system-scopes
  const own = asked.filter((scope) => contextOf(scope) !== 'system')
  return somethingOf(asked, narrowScopes(narrowScopes(own, scopes), user.scopes, isTenantBoundUser(user.fhirUser) ? 'alike' : 'wider'))
}

/** What was asked in vain; none where some of it is granted. Of data some must be: an app would only learn of it when it reads. */
export function findUngrantedScopes(asked: readonly string[], granted: readonly string[]): readonly string[] {
  if (granted.length === 0) return asked
  return dataOf(granted).length === 0 ? dataOf(asked) : []
}

const dataOf = (scopes: readonly string[]): readonly string[] => scopes.filter((scope) => contextOf(scope) !== undefined)

/** OAuthError `invalid_scope` where a scope has a condition by which nothing could ever be decided: one of all types, of none of them. */
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

function contextOf(text: string): ScopeContext | undefined {
  const scope = parseScope(text)
  return scope?.kind === 'resource' ? scope.context : undefined
}

/** OAuthError where they are too long. */
export function parseRequestedScopes(asked: string): readonly string[] {
  if (asked.length > LONGEST) throw new OAuthError('invalid_scope', `The scopes are longer than ${LONGEST} bytes`)
  return splitScopes(asked)
}

export const noScopesGranted = (asked: readonly string[]): OAuthError =>
  new OAuthError('invalid_scope', `None of these scopes can be granted: ${toDescriptionList(asked)}`)

/** Overlaps may be longer and more numerous than the requested scopes. */
function somethingOf(asked: readonly string[], granted: readonly string[]): readonly string[] {
  if (granted.length === 0) throw noScopesGranted(asked)
  if (granted.join(' ').length > LONGEST) throw new OAuthError('invalid_scope', `The scopes are longer than ${LONGEST} bytes`)
  const crowded = findTypeOverLimit(granted)
  if (crowded !== undefined) throw new OAuthError('invalid_scope', tooManyConditions(crowded))
  return granted
}

const tooManyConditions = (type: string): string =>
  `More than ${MAX_CONDITIONS_PER_TYPE} scopes with a condition are for the type ${type}, those of * included: ask for fewer, or list the values of a parameter in one condition`
