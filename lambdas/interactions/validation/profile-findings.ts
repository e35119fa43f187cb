/** Checks a resource against profiles. https://hl7.org/fhir/R4/validation.html */
import type { Issue } from '../../fhir/outcome.ts'
import { type DeclaredProfile, r4TypeOfCanonical, uncheckedProfileIssue } from '../../fhir/profile/check/declared-profiles.ts'
import { type CheckResult, checkProfiles } from '../../fhir/profile/check/profile-check.ts'
import type { IncrementalCheck } from '../../fhir/profile/check-context.ts'
import { LoadingLibrary, newCacheCapacity } from '../../fhir/profile/definitions/missing-definitions.ts'
import { UnusableDefinition } from '../../fhir/profile/definitions/reduced-profile.ts'
import type { UcumUnits } from '../../fhir/profile/rule-based-systems.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Conformance, ConformanceLookup } from '../../ports/definitions/conformance.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { isUnit, toBaseUnits } from '../../search/types/ucum.ts'
import { yieldIfDue } from '../time-slices.ts'
import { DeferredRules, RequestBudgets } from './deferred-rules.ts'

export {
  type DeclaredProfile,
  declarationIssuesOf,
  declaredProfilesOf,
  r4TypeOfCanonical,
} from '../../fhir/profile/check/declared-profiles.ts'
export { definitionIssuesOf, tenantDefinitions } from './tenant-definitions.ts'

export type ProfileCheckResult = {
  readonly issues: readonly Issue[]
  /** Canonicals of the requested profiles that are not loaded. */
  readonly missing: readonly string[]
  /** Requested profiles that are loaded but cannot be used, with the reason. */
  readonly unusable: readonly Unused[]
}

/** Profile that cannot be used. `isRetired`: because it is retired; no resource has to conform to a retired profile. */
type Unused = { readonly profile: string; readonly reason: string; readonly isRetired?: true }

/** Checks a resource. `profiles`: canonicals of the profiles. */
export type ProfileChecker = (resource: Resource, profiles: readonly string[], how: How) => Promise<ProfileCheckResult>

/**
 * Options of a check. `tenant`: its stored definitions apply too. `requestId`: checks with the same id share a budget for deferred rules.
 * `isEnforced`: a rule that cannot be evaluated is an error instead of a warning.
 */
type How = { readonly tenant: string; readonly requestId?: string; readonly isEnforced?: boolean }

export type ProfileParts = {
  readonly conformance: ConformanceLookup
  readonly expressions: ExpressionRunner
  /** Current time, for the limits that a profile sets relative to it. */
  readonly clock: Pick<Clock, 'now'>
  /** Returns the warnings for a definition that is stored. */
  readonly toldOfDefinition: (resource: Resource) => Promise<readonly Issue[]>
}

const UNITS: UcumUnits = { isUnit, inBaseUnits: toBaseUnits }

export function profileChecker({ conformance, expressions, clock }: Omit<ProfileParts, 'toldOfDefinition'>): ProfileChecker {
  const knownNow = knownByState(clock)
  const budgets = new RequestBudgets()
  return async (resource, canonicals, { tenant, requestId, isEnforced = false }) => {
    const definitions = await conformance(tenant)
    const known = (await knownNow(definitions)).forCheck()
    const profiles = canonicals.filter((canonical) => r4TypeOfCanonical(canonical) === undefined)
    const most = workFor(resource)
    const severity = isEnforced ? 'error' : 'warning'
    const elsewhere = new DeferredRules(expressions, severity, budgets.of(tenant, requestId))
    for (let loads = 0, spent = 0, asked = 0; ; loads++) {
      const work = { left: most }
      const trees = profiles.map((canonical) => known.tree(canonical))
      const { faults, pending, deciding } = await inTurns(
        checkProfiles(
          resource,
          trees.filter((tree) => tree !== undefined),
          known,
          work,
          elsewhere,
        ),
      )
      spent += most - work.left
      const isLast = loads >= MOST_LOADS || asked >= MOST_ASKED || spent >= MOST_TIMES * most
      const more = isLast ? 0 : await known.load()
      asked += more
      // Check again: the definitions that this round lacked are loaded now, or known to be missing.
      if (more > 0) continue
      await elsewhere.ask([...deciding, ...pending])
      if (deciding.length > 0 && !isLast) continue
      elsewhere.judge(pending, faults)
      const unasked: readonly Issue[] =
        isLast && (known.isWanting() || deciding.length > 0) ? [{ severity, ...UNASKED, expression: resource.resourceType }] : []
      const unusable = profiles.flatMap((profile) => unusedIn(known, profile))
      const missing = profiles.filter((profile, i) => trees[i] === undefined && known.unusable(profile) === undefined)
      return { issues: [...faults.issues, ...unasked, ...damageIssuesOf(definitions)], missing, unusable }
    }
  }
}

/** Runs the check in pieces, and yields to other requests between them. */
async function inTurns(check: IncrementalCheck<CheckResult>): Promise<CheckResult> {
  for (;;) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const piece = check.next()
    if (piece.done === true) return piece.value
  }
}

type Loaded = { readonly kind: 'loaded' | 'missing' } | { readonly kind: 'unusable'; readonly reason: string }

/** Returns whether the profile is loaded and usable, judged by the profile alone and not by its bases. */
export async function profileStateOf(canonical: string, { profile }: Conformance): Promise<Loaded> {
  try {
    const found = await profile(canonical)
    if (found?.isRetired) return { kind: 'unusable', reason: 'it is retired' }
    return { kind: found === undefined ? 'missing' : 'loaded' }
  } catch (error) {
    if (error instanceof UnusableDefinition) return { kind: 'unusable', reason: error.message }
    throw error
  }
}

/**
 * Returns the issue for a declared profile that was not checked, or none if it was. It is an error if `isEnforced` and the profile cannot
 * be used, unless it is retired. Otherwise it is a warning.
 */
export function uncheckedIssuesOf(named: DeclaredProfile, { missing, unusable }: ProfileCheckResult, isEnforced = false): readonly Issue[] {
  const { reason, isRetired } = unusable.find(({ profile }) => profile === named.canonical) ?? {}
  if (reason !== undefined) return [uncheckedProfileIssue(named, reason, isEnforced && !isRetired ? 'error' : 'warning')]
  return missing.includes(named.canonical) ? [uncheckedProfileIssue(named, undefined, 'warning')] : []
}

/** Returns a warning for each unreadable part of the definitions, because checks are incomplete without it. */
export const damageIssuesOf = ({ damage }: Conformance): readonly Issue[] =>
  damage().map((text) => ({ severity: 'warning', code: 'incomplete', text }))

function unusedIn(known: LoadingLibrary, profile: string): readonly Unused[] {
  const reason = known.unusable(profile)
  return reason === undefined ? [] : [{ profile, reason, ...(known.isRetiredProfile(profile) ? { isRetired: true } : {}) }]
}

/**
 * Returns the work budget of one round of a check. The unit is a visit of an element, which takes less than a microsecond. The declared
 * profiles and those that they refer to visit each element about ten times.
 */
const workFor = (resource: Resource): number => 60_000 + lengthOf(resource) / 3

/** Returns the approximate number of characters of the JSON. */
function lengthOf(tree: unknown): number {
  if (typeof tree === 'string') return tree.length + 4
  if (typeof tree !== 'object' || tree === null) return 4
  let length = 4
  if (Array.isArray(tree)) for (const item of tree) length += lengthOf(item)
  else for (const key in tree) length += key.length + 4 + lengthOf(tree[key as never])
  return length
}

/**
 * Maximum rounds of loading. Each round loads the definitions that the previous check lacked, such as bases and value sets. After the last
 * round, an issue reports that the check is incomplete.
 */
const MOST_LOADS = 50
/** Maximum definitions that one check looks up. Then it loads no more, and an issue reports that it is incomplete. */
const MOST_ASKED = 2_000
/** Maximum work of all rounds, as a multiple of the work budget of one round. Then no further round loads definitions. */
const MOST_TIMES = 5

const UNASKED = { code: 'too-costly', text: 'More definitions are named than are looked for: not all of them were checked' } as const

/** Maximum cached libraries. All tenants without stored definitions share one. Above it, the library unused for longest is discarded. */
const MOST_STATES = 20

/** Returns a cached lookup of the library for each state of the definitions. A running check keeps the library that it started with. */
function knownByState(clock: ProfileParts['clock']): (definitions: Conformance) => Promise<LoadingLibrary> {
  const known = new Map<string, LoadingLibrary>()
  const room = newCacheCapacity()
  return async (definitions) => {
    const state = await definitions.state()
    const found = known.get(state) ?? new LoadingLibrary(definitions, UNITS, () => clock.now(), room)
    known.delete(state)
    known.set(state, found)
    if (known.size > MOST_STATES) known.delete(known.keys().next().value!)
    return found
  }
}
