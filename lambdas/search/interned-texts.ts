/** Remembers what was made of texts that come again and again. The same objects come back, and their strings are hashed only once. */
import type { Element } from '../fhir/resource.ts'
import type { TypedValue } from './parameters.ts'

/** Longer texts seldom come again. */
const LONGEST = 200

/** Of at most `most` texts. */
export function cacheByText<T extends string | object>(most: number, make: (text: string) => T): (text: string) => T {
  const made = cacheByCode(most, (_none, text) => make(text))
  return (text) => made('', text)
}

/** Of at most `most` codes, and of each in the system it was last met in. */
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

/** Of the elements of the resource that was read last: several parameters see one element. */
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
