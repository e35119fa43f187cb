/** Caches results for texts that recur. It returns the same objects each time, so their strings are hashed only once. */
import type { Element } from '../fhir/resource.ts'
import type { TypedValue } from './parameters.ts'

/** Maximum characters of a cached text. Longer texts seldom recur. */
const LONGEST = 200

/** Caches the results for at most `most` texts. */
export function cacheByText<T extends string | object>(most: number, make: (text: string) => T): (text: string) => T {
  const made = cacheByCode(most, (_none, text) => make(text))
  return (text) => made('', text)
}

/** Caches the results for at most `most` codes, each for its latest system only. A full cache is emptied. */
export function cacheByCode<T>(most: number, make: (system: string, code: string) => T): (system: string, code: string) => T {
  const known = new Map<string, { readonly system: string; readonly made: T }>()
  return (system, code) => {
    const last = known.get(code)
    if (last !== undefined && last.system === system) return last.made
    const made = make(system, code)
    if (code.length + system.length > LONGEST) return made
    if (known.size >= most) known.clear()
    known.set(code, { system, made })
    return made
  }
}

/** Caches the results for the elements of the last resource, because several parameters read the same element. */
export function cachePerResource<T>(make: (value: TypedValue, resource: Element) => T): (value: TypedValue, resource: Element) => T {
  const known = new Map<unknown, { readonly type: string; readonly made: T }>()
  let last: Element | undefined
  return (value, resource) => {
    if (resource !== last && known.size > 0) known.clear()
    last = resource
    const before = known.get(value.value)
    if (before?.type === value.type) return before.made
    const made = make(value, resource)
    known.set(value.value, { type: value.type, made })
    return made
  }
}
