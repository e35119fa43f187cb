/** Of several versions of a resource the highest: what indexes keep of a batch. */

type Key = { readonly tenant: string; readonly type: string; readonly id: string }

/** In the order in which the resources were first met. */
export function newestVersionsOf<T extends Key>(items: readonly T[], versionOf: (item: T) => number): readonly T[] {
  // Nearly always all are different: then no names are made.
  if (new Set(items.map(({ id }) => id)).size === items.length) return items
  const newest = new Map<string, T>()
  for (const item of items) {
    const name = nameOf(item)
    const before = newest.get(name)
    if (before === undefined || versionOf(before) < versionOf(item)) newest.set(name, item)
  }
  return [...newest.values()]
}

/** Neither a type nor an id holds a space. */
export const nameOf = ({ tenant, type, id }: Key): string => `${tenant} ${type} ${id}`
