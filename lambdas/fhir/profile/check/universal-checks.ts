/**
 * Checks on every element, whatever the profile: R4's rules beyond structure for its type, and each extension against its definition.
 * https://hl7.org/fhir/R4/extensibility.html
 */
import type { Issue } from '../../outcome.ts'
import { spendWork } from '../../path/work-budget.ts'
import { type Element, isElement } from '../../resource.ts'
import { isResourceType } from '../../resource-types.ts'
import {
  type CheckContext,
  type IncrementalCheck,
  isPieceOver,
  NO_CHECKS,
  type RemainingCheck,
  report,
  reportMissingProfile,
} from '../check-context.ts'
import { joinFirst } from '../clipped-text.ts'
import { extensionVersionsOf } from '../extension-versions.ts'
import { type Item, itemOf } from '../items.ts'
import type { ProfileTree } from '../profile-tree.ts'
import { elementOf } from '../type-elements.ts'
import { checkCode } from './binding.ts'
import { declarationIssuesOf, declaredProfilesOf, r4TypeOfCanonical, uncheckedProfileIssue } from './declared-profiles.ts'
import { checkContextInvariant, checkExtensionContexts, type WalkLocation } from './extension-context.ts'

/** Checks an item against the tree of a profile. */
export type TreeCheck = (tree: ProfileTree, item: Item, type: string, check: CheckContext) => RemainingCheck

const BASE = 'http://hl7.org/fhir/StructureDefinition/'

export function* checkUniversalRules(resource: Element, check: CheckContext, against: TreeCheck): IncrementalCheck {
  const type = String(resource.resourceType)
  const advice = check.library.tree(`${BASE}${type}`)
  if (advice !== undefined) yield* against(advice, itemOf(resource), type, check) ?? NO_CHECKS
  yield* visitMembers(resource, { type, resource, location: check.faults.expression }, check, against)
}

/** Checks a nested resource against the profiles that it declares. Returns those that are loaded. */
function* checkDeclaredProfiles(
  resource: Element,
  type: string,
  check: CheckContext,
  against: TreeCheck,
): IncrementalCheck<readonly ProfileTree[]> {
  const { library, faults, verdicts } = check
  const at = faults.expression
  const profiles = declaredProfilesOf(resource, at)
  spendWork(check.work, profiles.length)
  const severityOf = (canonical: string): Issue['severity'] =>
    library.unusable?.(canonical) === undefined || library.isRetiredProfile?.(canonical) ? 'warning' : verdicts.severity
  const reportIssue = (issue: Issue): void => faults.reportAt(issue.expression ?? at, issue, issue.text)
  for (const issue of declarationIssuesOf(resource, profiles, verdicts.severity, at)) reportIssue(issue)
  const trees: ProfileTree[] = []
  for (const each of profiles.filter(({ canonical }) => r4TypeOfCanonical(canonical) === undefined)) {
    const tree = library.tree(each.canonical)
    if (tree === undefined) reportIssue(uncheckedProfileIssue(each, library.unusable?.(each.canonical), severityOf(each.canonical)))
    else {
      trees.push(tree)
      yield* against(tree, itemOf(resource), type, check) ?? NO_CHECKS
    }
  }
  return trees
}

function* visitMembers(element: Element, location: WalkLocation, check: CheckContext, against: TreeCheck): IncrementalCheck {
  const { faults } = check
  for (const key in element) {
    const value = element[key]
    if (typeof value !== 'object' || value === null) continue
    const name = key.startsWith('_') ? key.slice(1) : key
    const shape = elementOf(location.type, name) ?? (name === 'extension' ? EXTENSION : undefined)
    if (shape === undefined) continue
    const below: WalkLocation = { type: shape.type, name: shape.choice === undefined ? name : `${shape.choice}[x]`, above: location }
    faults.enter(shape.choice ?? name)
    if (Array.isArray(value))
      for (let i = 0; i < value.length; i++) {
        if (!isElement(value[i])) continue
        if (isPieceOver(check)) yield
        faults.enter(i)
        const rest = visit(value[i], key, below, check, against)
        if (rest !== undefined) yield* rest
        faults.leave()
      }
    else yield* visit(value as Element, key, below, check, against) ?? NO_CHECKS
    faults.leave()
  }
}

const EXTENSION = { type: 'Extension', choice: undefined }

function visit(value: Element, key: string, location: WalkLocation, check: CheckContext, against: TreeCheck): RemainingCheck {
  spendWork(check.work, 1)
  if (typeof value.resourceType === 'string' && isResourceType(value.resourceType)) {
    const own = key === 'contained' ? check : { ...check, owner: value }
    return visitResource(value, value.resourceType, own, against)
  }
  const isExtension = location.type === 'Extension'
  if (CODED.has(location.type)) checkCode(value, check)
  const definition = isExtension
    ? checkExtension(value, key === 'modifierExtension', location.above!, check)
    : adviceOn(key, location, check)
  const rest = definition === undefined || definition.isSilent ? undefined : against(definition, itemOf(value), location.type, check)
  if (!hasElements(value)) return rest
  const members = visitMembers(value, isExtension ? { ...location, url: value.url, definition } : location, check, against)
  return rest === undefined ? members : inTurn(rest, members)
}

function* inTurn(one: IncrementalCheck, other: IncrementalCheck): IncrementalCheck {
  yield* one
  yield* other
}

function* visitResource(resource: Element, type: string, check: CheckContext, against: TreeCheck): IncrementalCheck {
  const profiles = yield* checkDeclaredProfiles(resource, type, check, against)
  yield* checkUniversalRules(resource, { ...check, extensions: extensionVersionsOf(profiles) }, against)
}

/**
 * Returns the profile with R4's rules beyond structure for the type of an element. The companion of a primitive and backbone elements have
 * none of their own.
 */
const adviceOn = (key: string, { type }: WalkLocation, { library }: CheckContext): ProfileTree | undefined =>
  key.startsWith('_') || type.includes('.') ? undefined : library.tree(canonicalOf(type))

const CANONICALS = new Map<string, string>()

/** Returns the canonical URL of an R4 type. Reuses the string object, because its hash is already computed. */
function canonicalOf(type: string): string {
  const canonical = CANONICALS.get(type) ?? `${BASE}${type}`
  CANONICALS.set(type, canonical)
  return canonical
}

function hasElements(element: Element): boolean {
  for (const key in element) if (typeof element[key] === 'object') return true
  return false
}

/** Types that hold a code with its system. */
const CODED: ReadonlySet<string> = new Set(['Coding', 'Quantity', 'Age', 'Count', 'Distance', 'Duration'])

/**
 * Checks whether the element `host` may carry the extension, in `extension` or `modifierExtension`. Returns the definition of the
 * extension, if loaded, for the check of its content.
 */
function checkExtension(extension: Element, isModifier: boolean, host: WalkLocation, check: CheckContext): ProfileTree | undefined {
  const { url } = extension
  if (typeof url !== 'string') return undefined
  if (host.type === 'Extension' && !url.includes(':')) return checkPart(url, host, check)
  const canonical = check.extensions.get(url) ?? url
  const tree = check.library.tree(canonical)
  if (tree === undefined) return unknown(canonical, isModifier, check)
  const { isModifier: modifies = false, contexts = [], contextInvariants = [] } = tree.profile
  spendWork(check.work, contexts.length)
  const own = { ...check, profile: tree }
  if (modifies !== isModifier)
    report(own, 'structure', 'modifier', `This extension must stand in ${modifies ? 'modifierExtension' : 'extension'}`)
  checkExtensionContexts(contexts, host, own)
  for (const invariant of contextInvariants) checkContextInvariant(invariant, host, own)
  return tree
}

/**
 * Reports a nested extension whose `url` the definition of the outer extension does not have. Reports nothing if that definition is not
 * loaded.
 */
function checkPart(url: string, { definition }: WalkLocation, check: CheckContext): undefined {
  const slices = definition?.root.children.get('extension')?.slices
  spendWork(check.work, slices?.size ?? 0)
  const parts = [...(slices?.values() ?? [])].map((slice) => slice.children.get('url')?.fixed?.[0])
  if (definition !== undefined && parts.length > 0 && !parts.includes(url))
    report({ ...check, profile: definition }, 'structure', 'part', `The extension has only these parts: ${joinFirst(parts)}`)
}

function unknown(url: string, isModifier: boolean, check: CheckContext): undefined {
  const { faults, library } = check
  const name = isModifier ? 'modifier extension, which may change the meaning of other elements,' : 'extension'
  if (library.unusable?.(url) !== undefined) reportMissingProfile(url, check)
  else faults.report('information', 'not-supported', 'extension', `The definition of this ${name} is not loaded: it was not checked`)
}
