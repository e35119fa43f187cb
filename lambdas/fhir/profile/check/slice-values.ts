/** Rules of a slice at the end of a discriminator's path. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { spendWork } from '../../path/work-budget.ts'
import { isElement } from '../../resource.ts'
import { withoutVersion } from '../canonical.ts'
import type { CheckContext } from '../check-context.ts'
import { contentOf, type ProfileNode, type ProfileTree } from '../profile-tree.ts'
import { choiceSuffixOf, type DiscriminatorStep, stepsOf } from './discriminator-path.ts'

export type SliceValues = {
  readonly nodes: readonly ProfileNode[]
  /** Values that fixed values and patterns require at the path, including those of elements further up. */
  readonly expected: readonly ExpectedValue[]
  /** Whether the profile prohibits an element on the path (`max` 0). */
  readonly isBarred: boolean
  /** Profiles that are not loaded and may have more rules. */
  readonly missing: readonly string[]
  /** Result of each profile lookup. The values are valid while the results stay the same. */
  readonly lookedUp: ReadonlyMap<string, ProfileTree | undefined>
}

export type ExpectedValue = { readonly value: unknown; readonly isExact: boolean }

const VALUES = new WeakMap<ProfileNode, Map<string, SliceValues>>()

/** Maximum cached paths per slice. Further paths are evaluated at each use. Published slices have fewer. */
const MAX_PATHS = 4

/** Returns the values of a slice at a path. Caches them as long as the profiles that they depend on stay the same. */
export function sliceValuesAt(slice: ProfileNode, path: string, check: CheckContext): SliceValues {
  const cache = VALUES.get(slice)
  const before = cache?.get(path)
  if (before !== undefined && isStill(before, check)) return before
  const values = findValues(slice, path, check)
  if (cache === undefined) VALUES.set(slice, new Map([[path, values]]))
  else if (before !== undefined || cache.size < MAX_PATHS) cache.set(path, values)
  return values
}

function isStill({ lookedUp }: SliceValues, { library, work }: CheckContext): boolean {
  if (lookedUp.size === 0) return true
  spendWork(work, lookedUp.size)
  let isSame = true
  // Look up every profile, so that the library records and loads those that are missing.
  for (const [canonical, tree] of lookedUp) if (library.tree(canonical) !== tree) isSame = false
  return isSame
}

/** Values at the current step of the path. `isResolved`: whether this step was resolve(). */
type At = SliceValues & { readonly isResolved: boolean }
type LookupContext = Pick<CheckContext, 'work' | 'profile'> & { readonly tree: (canonical: string) => ProfileTree | undefined }

function findValues(slice: ProfileNode, path: string, { work, profile, library }: CheckContext): SliceValues {
  const lookedUp = new Map<string, ProfileTree | undefined>()
  const tree = (canonical: string): ProfileTree | undefined => {
    const found = library.tree(canonical)
    lookedUp.set(canonical, found)
    return found
  }
  const start: At = { nodes: [slice], expected: expectedOf(slice), isBarred: false, missing: [], lookedUp, isResolved: false }
  return stepsOf(path).reduce<At>((at, step) => follow(at, step, { work, profile, tree }), start)
}

function follow(at: At, { call, name }: DiscriminatorStep, context: LookupContext): At {
  spendWork(context.work, 1 + at.nodes.length)
  if (call === 'resolve') return { ...at, expected: [], isResolved: true }
  if (call === 'extension') return { ...at, nodes: extensionsOf(at.nodes, name, context), expected: [] }
  if (call !== undefined) return filterType(at, name)
  return within(at, name, context)
}

function within(at: At, name: string, context: LookupContext): At {
  const nodes = at.nodes.flatMap((node) => childrenOf(node, name, at.isResolved, context))
  const profiles = at.nodes.flatMap((node) => profilesOf(node, at.isResolved))
  // Compare the `url` of the extension with the canonical URL of its definition, whether the definition is loaded or not.
  const isUrl = name === 'url' && profiles.length > 0 && at.nodes.some(holdsExtensions)
  const urls = isUrl ? profiles.map((canonical) => ({ value: withoutVersion(canonical), isExact: true })) : []
  const above = at.expected.flatMap(({ value, isExact }) => partsOf(value, name).map((part) => ({ value: part, isExact })))
  const isBarred = at.isBarred || at.nodes.some(({ max }) => max === 0)
  const missing = isUrl ? [] : profiles.filter((canonical) => context.tree(canonical) === undefined)
  return {
    nodes,
    expected: [...above, ...nodes.flatMap(expectedOf), ...urls],
    isBarred,
    missing: [...at.missing, ...missing],
    lookedUp: at.lookedUp,
    isResolved: false,
  }
}

const holdsExtensions = ({ types = [] }: ProfileNode): boolean => types.some(({ code }) => code === 'Extension')

const expectedOf = ({ fixed, pattern }: ProfileNode): readonly ExpectedValue[] => [
  ...(fixed ?? []).map((value) => ({ value, isExact: true })),
  ...(pattern ?? []).map((value) => ({ value, isExact: false })),
]

const partsOf = (value: unknown, name: string): readonly unknown[] =>
  isElement(value) && Object.hasOwn(value, name) ? [value[name]].flat() : []

/**
 * Returns the nodes of a child: its own, its required slices (for a choice all slices), and those in the profiles that the node requires.
 */
function childrenOf(node: ProfileNode, name: string, isResolved: boolean, context: LookupContext): readonly ProfileNode[] {
  const content = contentOf(node, context.profile, context.tree)?.node ?? node
  const own = [content.children.get(name), content.children.get(`${name}[x]`)].filter((child) => child !== undefined)
  const profiles = profilesOf(node, isResolved)
    .map((canonical) => context.tree(canonical))
    .filter((tree) => tree !== undefined)
  const slicesOf = (child: ProfileNode): readonly ProfileNode[] => [...child.slices.values()].filter(({ min }) => child.isChoice || min > 0)
  return [
    ...own.flatMap((child) => [child, ...slicesOf(child)]),
    ...profiles.flatMap((profile) => childrenOf(profile.root, name, false, { ...context, profile })),
  ]
}

const profilesOf = ({ types = [] }: ProfileNode, isResolved: boolean): readonly string[] =>
  types.flatMap(({ profiles = [], targetProfiles = [] }) => (isResolved ? targetProfiles : profiles))

function filterType(at: At, type: string): At {
  const form = choiceSuffixOf(type)
  return { ...at, nodes: at.nodes.filter(({ isChoice, slice, name }) => !isChoice || slice === undefined || slice === `${name}${form}`) }
}

const extensionsOf = (nodes: readonly ProfileNode[], url: string, context: LookupContext): readonly ProfileNode[] =>
  nodes
    .flatMap((node) => [...(node.children.get('extension')?.slices.values() ?? [])])
    .filter((slice) => urlsOf(slice, context).includes(url))

const urlsOf = (slice: ProfileNode, context: LookupContext): readonly unknown[] => [
  ...profilesOf(slice, false).map(withoutVersion),
  ...childrenOf(slice, 'url', false, context).flatMap(({ fixed = [] }) => fixed),
]
