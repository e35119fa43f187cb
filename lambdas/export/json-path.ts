/**
 * Compiled JSONPath. Paths of names and wildcards, the most common ones, are evaluated here. The library evaluates all others.
 * https://www.rfc-editor.org/rfc/rfc9535
 */
import { query } from 'jsonpath-rfc9535'
import parsePath, { type JsonPathQuery } from 'jsonpath-rfc9535/parser'

/** Returns the values that the path selects in a JSON tree. */
export type JsonPath = (tree: unknown) => readonly unknown[]

/** Compiles a path. Throws Error if it is no JSONPath. */
export function compilePath(path: string): JsonPath {
  const steps = parsePath(path).segments.map(stepOf)
  return steps.includes(undefined) ? (tree) => query(tree as never, path) : (tree) => followed(tree, steps as readonly Step[])
}

/** One step of a path: a member name, or all children. */
type Step = { readonly name: string } | 'all'

/** Returns the step of a segment, or undefined if only the library can evaluate it. */
function stepOf({ type, node }: JsonPathQuery['segments'][number]): Step | undefined {
  if (type !== 'ChildSegment') return undefined
  const [only, ...more] = node.type === 'BracketedSelection' ? node.selectors : [node]
  if (only === undefined || more.length > 0) return undefined
  if (only.type === 'WildcardSelector') return 'all'
  return only.type === 'MemberNameShorthand' || only.type === 'NameSelector' ? { name: only.value } : undefined
}

function followed(tree: unknown, steps: readonly Step[]): readonly unknown[] {
  let found: readonly unknown[] = [tree]
  for (const step of steps) found = found.length === 1 ? below(found[0], step) : found.flatMap((each) => below(each, step))
  return found
}

function below(tree: unknown, step: Step): readonly unknown[] {
  if (typeof tree !== 'object' || tree === null) return []
  if (step === 'all') return Array.isArray(tree) ? tree : Object.values(tree)
  return !Array.isArray(tree) && Object.hasOwn(tree, step.name) ? [(tree as Readonly<Record<string, unknown>>)[step.name]] : []
}
