/** What stands at a path of a resource, slices too, in plain JSON and without anything of this server. */
import type { Tree } from '../fixtures/resources.ts'

/**
 * Each item at the path: `category.coding.code`, `value[x]` of any type. `component(8480-6)`: those with this code, type, system or url, or one
 * that ends with it; `category(exam|therapy)`: with any of these.
 */
export function elementsAt(resource: Tree, path: string): readonly Tree[] {
  let items: readonly Tree[] = [resource]
  for (const step of path.split(/\.(?![^(]*\))/)) items = items.flatMap((item) => children(item, step))
  return items
}

function children(item: Tree, step: string): readonly Tree[] {
  if (typeof item !== 'object' || item === null) return []
  const [, name = '', choice, expected] = /^(\w+)(\[x\])?(?:\((.+)\))?$/.exec(step)!
  if (choice !== undefined) return choices(item, name)
  const own = [item[name] ?? []].flat()
  return expected === undefined ? own : own.filter((each) => isOneOf(each, expected.split('|')))
}

const choices = (item: Tree, name: string): readonly Tree[] =>
  Object.keys(item).flatMap((key) => (key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length)) ? [item[key]].flat() : []))

const isOneOf = (item: Tree, expected: readonly string[]): boolean =>
  [item.url, item.system, ...codesIn(item), ...codesIn(item.code ?? {}), ...codesIn(item.type ?? {})].some(
    (text) => typeof text === 'string' && expected.some((each) => text === each || text.endsWith(`/${each}`)),
  )

/** Of a coding, or of the codings of a concept. */
const codesIn = ({ code, coding = [] }: Tree): readonly unknown[] => [code, ...coding.map((each: Tree) => each.code)]

/** Each `{ reference }` of it, however deep. */
export function referencesIn(value: Tree): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = typeof value.reference === 'string' ? [value.reference] : []
  return [...own, ...Object.values(value).flatMap(referencesIn)]
}
