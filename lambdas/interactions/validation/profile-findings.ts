/** How a resource differs from profiles, and from what R4 advises. https://hl7.org/fhir/R4/validation.html */
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
  /** Those of the profiles that are not loaded. */
  readonly missing: readonly string[]
  /** Those that are loaded and cannot be used. */
  readonly unusable: readonly Unused[]
}

/** `isRetired`: it takes no part, and nobody has to be as it says. */
type Unused = { readonly profile: string; readonly reason: string; readonly isRetired?: true }

/** `profiles`: their canonicals. */
export type ProfileChecker = (resource: Resource, profiles: readonly string[], how: How) => Promise<ProfileCheckResult>

/** `tenant`: whose definitions count; `requestId`: of the request, whose resources share a budget for rules. A rule that cannot be evaluated is an error where what profiles say is enforced, else a warning. */
type How = { readonly tenant: string; readonly requestId?: string; readonly isEnforced?: boolean }

export type ProfileParts = {
  readonly conformance: ConformanceLookup
  readonly expressions: ExpressionRunner
  /** What durations are counted from. */
  readonly clock: Pick<Clock, 'now'>
  /** What is to be told of a definition that is stored. */
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
      // What was not at hand is now, or is not loaded at all.
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

/** Others pass before each piece. */
async function inTurns(check: IncrementalCheck<CheckResult>): Promise<CheckResult> {
  for (;;) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const piece = check.next()
    if (piece.done === true) return piece.value
  }
}

type Loaded = { readonly kind: 'loaded' | 'missing' } | { readonly kind: 'unusable'; readonly reason: string }

/** Whether there is a profile that can be used, as far as it says itself. */
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

/** What is to be told of a profile that a resource names, where it was not checked. What cannot be used is an error where it is enforced. */
export function uncheckedIssuesOf(named: DeclaredProfile, { missing, unusable }: ProfileCheckResult, isEnforced = false): readonly Issue[] {
  const { reason, isRetired } = unusable.find(({ profile }) => profile === named.canonical) ?? {}
  if (reason !== undefined) return [uncheckedProfileIssue(named, reason, isEnforced && !isRetired ? 'error' : 'warning')]
  return missing.includes(named.canonical) ? [uncheckedProfileIssue(named, undefined, 'warning')] : []
}

/** That something was not looked at, because what is loaded is damaged. */
export const damageIssuesOf = ({ damage }: Conformance): readonly Issue[] =>
  damage().map((text) => ({ severity: 'warning', code: 'incomplete', text }))

function unusedIn(known: LoadingLibrary, profile: string): readonly Unused[] {
  const reason = known.unusable(profile)
  return reason === undefined ? [] : [{ profile, reason, ...(known.isRetiredProfile(profile) ? { isRetired: true } : {}) }]
}

/**
 * Looking at an element is one: less than a microsecond. A resource is looked at some ten times, by the profiles that it names and by those
 * that these name.
 */
const workFor = (resource: Resource): number => 60_000 + lengthOf(resource) / 3

/** About the characters of its JSON. */
function lengthOf(tree: unknown): number {
  if (typeof tree === 'string') return tree.length + 4
  if (typeof tree !== 'object' || tree === null) return 4
  let length = 4
  if (Array.isArray(tree)) for (const item of tree) length += lengthOf(item)
  else for (const key in tree) length += key.length + 4 + lengthOf(tree[key as never])
  return length
}

/** Each brings what the one before showed to be needed: bases, parts, value sets of value sets. */
const MOST_LOADS = 50
/** Definitions that are looked for, and what all of it may take, against the last time. */
const MOST_ASKED = 2_000
const MOST_TIMES = 5

const UNASKED = { code: 'too-costly', text: 'More definitions are named than are looked for: not all of them were checked' } as const

/** States that are remembered: of tenants that loaded nothing of their own it is one. */
const MOST_STATES = 20

/** What is known is of one state of what is loaded; a check goes on with what it began with. */
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
