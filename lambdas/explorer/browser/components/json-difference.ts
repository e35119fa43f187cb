/** Difference between two JSON trees, by element path. */
import { Decimal, isTree, type Json, type Tree } from '../json.ts'

/**
 * One difference. `path`: of the element, such as `name[0].family`; empty for the whole tree. `before` and `after`: absent if the tree has no
 * such element.
 */
export type Difference = {
  readonly path: string
  readonly kind: 'added' | 'removed' | 'changed'
  readonly before?: Json
  readonly after?: Json
}

/**
 * Returns the differences in the order of the elements of `after`, removed elements last in each tree. Compares items of arrays by index, and
 * numbers by their text, so `1.5` and `1.50` differ. An added or removed tree is one difference.
 */
export function differencesOf(before: Json | undefined, after: Json | undefined, path = ''): readonly Difference[] {
  if (before === undefined) return after === undefined ? [] : [{ path, kind: 'added', after }]
  if (after === undefined) return [{ path, kind: 'removed', before }]
  if (Array.isArray(before) && Array.isArray(after)) {
    const [old, now] = [before, after] as readonly (readonly Json[])[]
    const indices = Array.from({ length: Math.max(old!.length, now!.length) }, (_, i) => i)
    return indices.flatMap((i) => differencesOf(old![i], now![i], `${path}[${i}]`))
  }
  if (isTree(before) && isTree(after)) {
    const names = [...new Set([...Object.keys(after), ...Object.keys(before)])]
    return names.flatMap((name) => differencesOf(ownOf(before, name), ownOf(after, name), path === '' ? name : `${path}.${name}`))
  }
  return jsonText(before) === jsonText(after) ? [] : [{ path, kind: 'changed', before, after }]
}

/** An element may have the name of a method of all objects. */
const ownOf = (tree: Tree, name: string): Json | undefined => (Object.hasOwn(tree, name) ? tree[name] : undefined)

/** Returns the value as JSON in one line. Numbers keep their decimals. */
export function jsonText(value: Json): string {
  if (value instanceof Decimal) return value.text
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(jsonText).join(', ')}]`
  if (!isTree(value)) return JSON.stringify(value)
  const pairs = Object.entries(value).flatMap(([name, each]) => (each === undefined ? [] : `${JSON.stringify(name)}: ${jsonText(each)}`))
  return `{${pairs.join(', ')}}`
}
