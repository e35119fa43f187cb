/** Reduces a batch to the highest version of each resource: indexes ignore the lower ones. */

type Key = { readonly tenant: string; readonly type: string; readonly id: string }

/** Returns the item with the highest version of each resource, in the order in which the resources first occur. */
export function newestVersionsOf<T extends Key>(items: readonly T[], versionOf: (item: T) => number): readonly T[] {
  // Fast path: nearly always all ids of a batch differ, so no resource occurs twice.
  if (new Set(items.map(({ id }) => id)).size === items.length) return items
  const newest = new Map<string, T>()
  for (const item of items) {
    const name = nameOf(item)
    const before = newest.get(name)
    if (before === undefined || versionOf(before) < versionOf(item)) newest.set(name, item)
  }
  return [...newest.values()]
}

/** Returns a text that identifies the resource. It is unambiguous, because tenants, types and ids contain no space. */
export const nameOf = ({ tenant, type, id }: Key): string => `${tenant} ${type} ${id}`
