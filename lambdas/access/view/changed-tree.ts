/** Changes in the tree of a resource. Unchanged parts are shared with the original, and an unchanged tree is the same object. */
import { type Element, isElement } from '../../fhir/resource.ts'

/**
 * Decides about a value that is no list: `undefined` removes it, `DESCEND` goes on with its members, anything else replaces it. `name`: the
 * name of the member; `status` for `_status` too. Each item of a list has the name of the list.
 */
export type Change = (value: unknown, name: string) => unknown

export const DESCEND = Symbol('descend')

/**
 * Returns the element with `change` applied to its members, and `below` to all their descendants. Copies nothing before the first change.
 */
export function changedMembers(element: Element, change: Change, below: Change = change): Element | undefined {
  let result: Record<string, unknown> | undefined
  for (const name in element) {
    const before = element[name]
    const after = changedValue(before, name, change, below)
    // An entry of a Bundle or a parameter is nothing without its resource.
    if (after === undefined && name === 'resource') return undefined
    if (after !== before) result ??= membersBefore(element, name)
    if (result !== undefined && after !== undefined) result[name] = after
  }
  return result ?? element
}

function membersBefore(element: Element, end: string): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  for (const name in element) {
    if (name === end) break
    members[name] = element[name]
  }
  return members
}

function changedValue(value: unknown, name: string, change: Change, below: Change): unknown {
  if (Array.isArray(value)) return changedItems(value, name, change, below)
  const decided = change(value, name.startsWith('_') ? name.slice(1) : name)
  const after = decided !== DESCEND ? decided : isElement(value) ? changedMembers(value, below) : value
  return after === value || !isElement(after) || hasContent(after, name) ? after : undefined
}

/** Whether an element has more than its id (ele-1). An extension needs more than its URL (ext-1). https://hl7.org/fhir/R4/element.html */
const hasContent = (element: Element, name: string): boolean =>
  Object.keys(element).some((member) => member !== 'id' && (member !== 'url' || !EXTENSIONS.has(name)))

const EXTENSIONS: ReadonlySet<string> = new Set(['extension', 'modifierExtension'])

function changedItems(items: readonly unknown[], name: string, change: Change, below: Change): unknown {
  let changed: unknown[] | undefined
  let at = 0
  for (const item of items) {
    const after = changedValue(item, name, change, below)
    if (after !== item) changed ??= items.slice(0, at)
    changed?.push(after)
    at++
  }
  if (changed === undefined) return items
  // The extensions of primitives have the positions of their values. https://hl7.org/fhir/R4/json.html#primitive
  const left = name.startsWith('_') ? changed.map((item) => item ?? null) : changed.filter((item) => item !== undefined)
  return left.some((item) => item !== null) ? left : undefined
}
