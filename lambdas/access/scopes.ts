/**
 * Scopes of tokens in the syntax of SMART v1 (`patient/Observation.read`) and v2 (`patient/Observation.rs?category=laboratory`).
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html
 */
import { isResourceType } from '../fhir/resource-types.ts'

/**
 * Permission of a scope. c: create. r: read, vread, instance history. u: update, patch. d: delete. s: search, history of a type or of the
 * system, criteria of conditional interactions.
 */
export type Letter = 'c' | 'r' | 'u' | 'd' | 's'

export type ScopeContext = 'patient' | 'user' | 'system'

export type ResourceScope = {
  readonly kind: 'resource'
  readonly context: ScopeContext
  /** A resource type, or `*`. */
  readonly type: string
  /** Permissions: at least one, in the order of `LETTERS`. */
  readonly letters: readonly Letter[]
  /** Condition as search criteria, percent-encoded; empty: no condition. */
  readonly query: string
}

export type Scope = ResourceScope | { readonly kind: 'admin' } | { readonly kind: 'named'; readonly name: string }

export const LETTERS: readonly Letter[] = ['c', 'r', 'u', 'd', 's']
const V1: Readonly<Record<string, readonly Letter[]>> = { read: ['r', 's'], write: ['c', 'u', 'd'], '*': LETTERS }
const NAMED_SCOPES = ['openid', 'fhirUser', 'profile', 'offline_access', 'online_access', 'launch', 'launch/patient', 'launch/encounter']
const RESOURCE = /^(patient|user|system)\/(\*|[A-Za-z]+)\.(read|write|\*|c?r?u?d?s?)(?:\?([!-~]+))?$/

export const ADMIN_SCOPE = 'system/admin'

/** Parses one scope. Returns undefined if the text is not a scope of this server. */
export function parseScope(text: string): Scope | undefined {
  if (text === ADMIN_SCOPE) return { kind: 'admin' }
  if (NAMED_SCOPES.includes(text)) return { kind: 'named', name: text }
  const [, context, type = '', access = '', query = ''] = RESOURCE.exec(text) ?? []
  const letters = V1[access] ?? LETTERS.filter((letter) => access.includes(letter))
  if (letters.length === 0 || !(type === '*' || isResourceType(type))) return undefined
  return { kind: 'resource', context: context as ScopeContext, type, letters, query }
}

/** Returns the distinct scopes of a list separated by spaces. https://www.rfc-editor.org/rfc/rfc6749#section-3.3 */
export const splitScopes = (list: string): readonly string[] => [...new Set(list.split(' ').filter((text) => text !== ''))]

/** Returns the scope in SMART v2 syntax. */
export const scopeTextOf = ({ context, type, letters, query }: ResourceScope): string =>
  `${context}/${type}.${letters.join('')}${query === '' ? '' : `?${query}`}`

/**
 * Maximum scopes with a condition for one type in one token, because each takes processing time in the first request of the token. Grants
 * and external tokens with more are rejected.
 */
export const MAX_CONDITIONS_PER_TYPE = 20

/**
 * Returns a type with more than `MAX_CONDITIONS_PER_TYPE` scopes that have a condition, or undefined. Those of `*` count for every type.
 */
export function findTypeOverLimit(texts: readonly string[]): string | undefined {
  const counts = new Map<string, number>([['*', 0]])
  for (const text of texts) {
    const scope = parseScope(text)
    if (scope?.kind === 'resource' && scope.query !== '') counts.set(scope.type, (counts.get(scope.type) ?? 0) + 1)
  }
  const anyTypeCount = counts.get('*')!
  return [...counts].find(([type, count]) => (type === '*' ? count : count + anyTypeCount) > MAX_CONDITIONS_PER_TYPE)?.[0]
}

/**
 * Contexts of requested scopes that an allowed scope covers.
 * - `same`: only its own context.
 * - `wider`: its own and narrower contexts. Named scopes are not limited. The scopes of a user limit a client in this way.
 * - `alike`: as `wider`, and every context also covers `user/`. It is for users that act only for patients, whose `user/` scopes reach no
 *   more data than `patient/`.
 */
export type ContextRule = 'same' | 'wider' | 'alike'

/** Contexts from the narrowest to the widest: each is included in the ones that follow it. */
export const CONTEXTS_NARROWEST_FIRST: readonly ScopeContext[] = ['patient', 'user', 'system']

/**
 * Returns the parts of the `requested` scopes that `allowed` covers, in the order and with the contexts of `requested`. A scope that is
 * covered as a whole keeps its text. Unknown scopes and duplicates are dropped. Named scopes are limited only with `same`.
 */
export function narrowScopes(requested: readonly string[], allowed: readonly string[], contexts: ContextRule = 'same'): readonly string[] {
  const bounds = allowed.map(parseScope).filter((scope): scope is ResourceScope => scope?.kind === 'resource')
  const granted = requested.flatMap((text) => {
    const scope = parseScope(text)
    if (scope === undefined) return []
    if (scope.kind !== 'resource') return allowed.includes(text) || (scope.kind === 'named' && contexts !== 'same') ? [text] : []
    const parts = bounds.flatMap((bound) => overlapOf(scope, bound, contexts))
    const whole = scopeTextOf(scope)
    return parts.some((part) => scopeTextOf(part) === whole) ? [text] : parts.map(scopeTextOf)
  })
  return [...new Set(granted)]
}

function overlapOf(scope: ResourceScope, bound: ResourceScope, contexts: ContextRule): readonly ResourceScope[] {
  if (!isWithin(scope.context, bound.context, contexts)) return []
  if (scope.type !== bound.type && scope.type !== '*' && bound.type !== '*') return []
  const letters = scope.letters.filter((letter) => bound.letters.includes(letter))
  if (letters.length === 0) return []
  const type = scope.type === '*' ? bound.type : scope.type
  // Removes duplicate conditions, so that narrowing twice returns the same as narrowing once.
  const query = [...new Set([scope.query, bound.query].flatMap((text) => text.split('&')).filter((text) => text !== ''))].join('&')
  return [{ ...scope, type, letters, query }]
}

function isWithin(context: ScopeContext, bound: ScopeContext, contexts: ContextRule): boolean {
  if (contexts === 'same') return context === bound
  return (
    (contexts === 'alike' && context === 'user') || CONTEXTS_NARROWEST_FIRST.indexOf(context) <= CONTEXTS_NARROWEST_FIRST.indexOf(bound)
  )
}
