/** Checks the type of a reference's target, and its profile if the target is available. https://hl7.org/fhir/R4/references.html */
import { findContained } from '../../path/contained-resources.ts'
import { targetTypeOf } from '../../path/reference-type.ts'
import { spendWork } from '../../path/work-budget.ts'
import { type Element, isElement, isResource } from '../../resource.ts'
import { isResourceType } from '../../resource-types.ts'
import { r4TypeNameOf } from '../canonical.ts'
import {
  type CheckContext,
  type IncrementalCheck,
  NO_CHECKS,
  type RemainingCheck,
  report,
  reportMissingProfile,
  trialOf,
} from '../check-context.ts'
import { joinFirst } from '../clipped-text.ts'
import { type Item, itemOf } from '../items.ts'

/**
 * Checks the type of a reference's target, and its profile if the target is contained or in the same Bundle. Never reads the store.
 * `profiles`: profiles of allowed targets.
 */
export function checkTargets(profiles: readonly string[], { value }: Item, check: CheckContext): RemainingCheck {
  if (profiles.length === 0 || !isElement(value)) return undefined
  spendWork(check.work, profiles.length)
  const { types, missing } = typesOfProfiles(profiles, check)
  const type = targetTypeOf(value, check.owner)
  if (type === undefined || !isResourceType(type)) return undefined
  const target = resolveReference(value, check)
  if (types.has(type) || types.has('Resource')) {
    if (target !== undefined) return checkTarget(profiles, target, type, String(value.reference).startsWith('#'), check)
  } else if (missing.length === 0)
    report(check, 'value', 'target', `A reference to ${type} is not allowed here, only to ${joinFirst([...types])}`)
  else for (const canonical of missing) reportMissingProfile(canonical, check)
  return undefined
}

function* checkTarget(
  profiles: readonly string[],
  target: Element,
  type: string,
  isContained: boolean,
  check: CheckContext,
): IncrementalCheck {
  const { missing } = typesOfProfiles(profiles, check)
  const fitting = profiles.filter(
    (canonical) => (r4TypeNameOf(canonical) ?? check.library.tree(canonical)?.profile.type) === type || isAny(canonical),
  )
  if (fitting.some((canonical) => r4TypeNameOf(canonical) !== undefined)) return
  const trial = trialOf(check)
  const { faults } = trial
  const owner = check.root.resourceType === 'Bundle' && !isContained ? target : check.owner
  yield* check.again.oneOf(fitting, itemOf(target), type, { ...trial, owner }) ?? NO_CHECKS
  if (faults.errors === 0) {
    if (faults.undecided !== undefined) check.faults.report('information', 'not-supported', faults.undecided, faults.undecided)
  } else if (missing.length === 0)
    report(check, 'value', 'target', `What is referred to is not as it must be: ${joinFirst(fitting, ' or ')}`)
  else for (const canonical of missing) reportMissingProfile(canonical, check)
}

const isAny = (canonical: string): boolean => r4TypeNameOf(canonical) === 'Resource'

/** Returns the types that the profiles are for. `missing`: profiles that are not loaded, which may be for any type. */
export function typesOfProfiles(profiles: readonly string[], { library }: Pick<CheckContext, 'library'>): Types {
  const types = new Map(profiles.map((canonical) => [canonical, r4TypeNameOf(canonical) ?? library.tree(canonical)?.profile.type]))
  const found = [...types.values()].filter((type) => type !== undefined)
  return { types: new Set(found), missing: [...types.keys()].filter((canonical) => types.get(canonical) === undefined) }
}

type Types = { readonly types: ReadonlySet<string>; readonly missing: readonly string[] }

/** Returns the target of a reference if it is contained or in the same Bundle; otherwise undefined. */
export function resolveReference(reference: Element, { owner, root }: Pick<CheckContext, 'owner' | 'root'>): Element | undefined {
  const { reference: text } = reference
  if (typeof text !== 'string') return undefined
  if (text.startsWith('#')) return findContained(text.slice(1), owner.contained)
  return root.resourceType === 'Bundle' && Array.isArray(root.entry) ? entriesOf(root.entry).get(text) : undefined
}

const ENTRIES = new WeakMap<readonly unknown[], ReadonlyMap<string, Element | undefined>>()

/**
 * Returns the resources of a Bundle by the names that references can use. The first entry with a name wins. Cached for the list of entries.
 */
function entriesOf(list: readonly unknown[]): ReadonlyMap<string, Element | undefined> {
  const cached = ENTRIES.get(list)
  if (cached !== undefined) return cached
  const entries = new Map<string, Element | undefined>()
  for (const entry of list) {
    if (!isElement(entry)) continue
    for (const name of namesOf(entry)) if (!entries.has(name)) entries.set(name, entry.resource as Element | undefined)
  }
  ENTRIES.set(list, entries)
  return entries
}

/** Returns the names of an entry: its fullUrl, and `Type/id` from the resource and from the end of the fullUrl. */
function namesOf({ fullUrl, resource }: Element): readonly string[] {
  const whole = typeof fullUrl === 'string' ? [fullUrl] : []
  if (!isResource(resource)) return whole
  const end = whole.flatMap((url) => RELATIVE.exec(url)?.[1] ?? [])
  return [...whole, ...[`${resource.resourceType}/${resource.id}`, ...end].filter((name) => RELATIVE.test(`/${name}`))]
}

const RELATIVE = /\/([A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64})$/
