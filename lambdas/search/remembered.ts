/** Remembers what was made of texts that come again and again. The same objects come back, and their strings are hashed only once. */

/** Longer texts seldom come again. */
const LONGEST = 200

/** Of at most `most` texts. */
export function remembered<T extends string | object>(most: number, make: (text: string) => T): (text: string) => T {
  const made = rememberedPair(most, (_none, text) => make(text))
  return (text) => made('', text)
}

/** Of at most `most` codes, and of each in the system it was last met in. */
export function rememberedPair<T>(most: number, make: (system: string, code: string) => T): (system: string, code: string) => T {
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
