/** Caches results for texts that recur. A hit returns the same objects, so the engine hashes their strings only once. */
import type { Element } from '../fhir/resource.ts'
import type { TypedValue } from './parameters.ts'

/** Maximum characters of a cached text, or of a system and its code together. Longer texts seldom recur and are not cached. */
const LONGEST = 200

/** Returns `make` with a cache for at most `limit` texts. A full cache is emptied. */
export function cacheByText<T extends string | object>(limit: number, make: (text: string) => T): (text: string) => T {
  const cached = cacheByCode(limit, (_none, text) => make(text))
  return (text) => cached('', text)
}

/** Returns `make` with a cache for at most `limit` codes. For each code it stores only the latest system. A full cache is emptied. */
export function cacheByCode<T>(limit: number, make: (system: string, code: string) => T): (system: string, code: string) => T {
  const cache = new Map<string, { readonly system: string; readonly result: T }>()
  return (system, code) => {
    const last = cache.get(code)
    if (last !== undefined && last.system === system) return last.result
    const result = make(system, code)
    if (code.length + system.length > LONGEST) return result
    if (cache.size >= limit) cache.clear()
    cache.set(code, { system, result })
    return result
  }
}

/**
 * Returns `make` with a cache for the elements of one resource, because several parameters read the same element. Another resource empties
 * it.
 */
export function cachePerResource<T>(make: (value: TypedValue, resource: Element) => T): (value: TypedValue, resource: Element) => T {
  const cache = new Map<unknown, { readonly type: string; readonly result: T }>()
  let last: Element | undefined
  return (value, resource) => {
    if (resource !== last && cache.size > 0) cache.clear()
    last = resource
    const before = cache.get(value.value)
    if (before?.type === value.type) return before.result
    const result = make(value, resource)
    cache.set(value.value, { type: value.type, result })
    return result
  }
}
