/** Which of the scopes that are asked for are granted: what is registered, and never more than the user may. */
import { ADMIN, crowdedType, MOST_CONDITIONS, narrowedTo, parseScope, type ScopeContext, scopeTexts } from '../../access/scopes.ts'
import { isOfOneTenant } from '../../access/user-patients.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { shown, shownAll } from '../request-parameters.ts'

/** Bytes of all texts: a token travels in a header, and those of gateways end at 10,240 bytes. */
const LONGEST = 3_000

/** What makes no sense without a user who logs in. */
const OF_USERS = new Set(['openid', 'fhirUser', 'profile', 'offline_access', 'online_access', 'launch'])

/** Of client_credentials. `asked` undefined: all that is registered, but for the administrator's. OAuthError where nothing is left. */
export function scopesOfClient({ scopes }: Client, asked: string | undefined): readonly string[] {
  const wanted = asked === undefined ? scopes.filter((scope) => scope !== ADMIN) : wantedOf(asked)
  return somethingOf(
    wanted,
    narrowedTo(wanted, scopes).filter((scope) => !OF_USERS.has(scope) && contextOf(scope) !== 'user'),
  )
}

/**
 * What the client may ask of this user: nothing of the whole system, and nothing it did not ask for. `user/` of who is a patient or cares for some
 * is about those patients only: what is allowed of them bounds it. To grant what was granted grants the same. OAuthError where nothing is left.
 */
export function scopesOfUser({ scopes }: Client, user: User, asked: readonly string[]): readonly string[] {
  // guard: user-grant-without-system-scopes
  const own = asked.filter((scope) => contextOf(scope) !== 'system')
  return somethingOf(asked, narrowedTo(narrowedTo(own, scopes), user.scopes, isOfOneTenant(user.fhirUser) ? 'alike' : 'wider'))
}

/** What was asked in vain; none where some of it is granted. Of data some must be: an app would only learn of it when it reads. */
export function inVain(asked: readonly string[], granted: readonly string[]): readonly string[] {
  if (granted.length === 0) return asked
  return dataOf(granted).length === 0 ? dataOf(asked) : []
}

const dataOf = (scopes: readonly string[]): readonly string[] => scopes.filter((scope) => contextOf(scope) !== undefined)

/** OAuthError `invalid_scope` where a scope has a condition by which nothing could ever be decided: one of all types, of none of them. */
export async function checkConditions(
  { isDecidable }: Pick<AuthPorts, 'isDecidable'>,
  scopes: readonly string[],
  tenants: readonly string[],
) {
  for (const text of scopes) {
    const scope = parseScope(text)
    if (scope?.kind !== 'resource' || scope.query === '') continue
    if (!(await isDecidable(tenants, scope.type, scope.query)))
      throw new OAuthError('invalid_scope', `${shown(text)} has a condition that a resource alone cannot meet`)
  }
}

function contextOf(text: string): ScopeContext | undefined {
  const scope = parseScope(text)
  return scope?.kind === 'resource' ? scope.context : undefined
}

/** OAuthError where they are too long. */
export function wantedOf(asked: string): readonly string[] {
  if (asked.length > LONGEST) throw new OAuthError('invalid_scope', `The scopes are longer than ${LONGEST} bytes`)
  return scopeTexts(asked)
}

export const noneOf = (asked: readonly string[]): OAuthError =>
  new OAuthError('invalid_scope', `None of these scopes can be granted: ${shownAll(asked)}`)

/** Overlaps may be longer and more numerous than the requested scopes. */
function somethingOf(asked: readonly string[], granted: readonly string[]): readonly string[] {
  if (granted.length === 0) throw noneOf(asked)
  if (granted.join(' ').length > LONGEST) throw new OAuthError('invalid_scope', `The scopes are longer than ${LONGEST} bytes`)
  const crowded = crowdedType(granted)
  if (crowded !== undefined) throw new OAuthError('invalid_scope', tooManyConditions(crowded))
  return granted
}

const tooManyConditions = (type: string): string =>
  `More than ${MOST_CONDITIONS} scopes with a condition are for the type ${type}, those of * included: ask for fewer, or list the values of a parameter in one condition`
