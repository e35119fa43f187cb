/** Highest version of each resource in a batch: indices ignore the others. */

type Key = { readonly tenant: string; readonly type: string; readonly id: string }

/** Returns the item with the highest version of each resource, in the order in which the resources first occur. */
export function newestVersionsOf<T extends Key>(items: readonly T[], versionOf: (item: T) => number): readonly T[] {
  // Fast path: the ids nearly always differ, and then no names are needed.
  if (new Set(items.map(({ id }) => id)).size === items.length) return items
  const newest = new Map<string, T>()
  for (const item of items) {
    const name = nameOf(item)
    const before = newest.get(name)
    if (before === undefined || versionOf(before) < versionOf(item)) newest.set(name, item)
  }
  return [...newest.values()]
}

/** Returns a unique name: neither a type nor an id contains a space. */
export const nameOf = ({ tenant, type, id }: Key): string => `${tenant} ${type} ${id}`
