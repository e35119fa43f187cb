/** Resources that are only to be made unless one is there: two files may tell of the same hospital under different ids. */
import type { LoadFailure, ParsedEntries } from './load-entries.ts'
import type { ReferenceLookup } from './reference-lookup.ts'

/** By Type/id: the keys of what is there already instead, and why others can be neither made nor replaced. */
export type Replacements = { readonly others: ReadonlyMap<string, string>; readonly refused: ReadonlyMap<string, LoadFailure> }

export type ReplacementFinder = (opened: ParsedEntries, place: string) => Promise<Replacements>

const NONE: Replacements = { others: new Map(), refused: new Map() }

/** For one load: the first resource under some criteria is made, unless the server has one, and stands for those that follow. */
export function replacementFinder(lookUp: ReferenceLookup): ReplacementFinder {
  const first = new Map<string, string>()
  return async ({ unless }, place) => {
    if (unless.length === 0) return NONE
    const meaningOf = await lookUp.meanings(unless.map(({ search }) => search))
    const others = new Map<string, string>()
    const refused = new Map<string, LoadFailure>()
    for (const { key, search } of unless) {
      const { keys, fault } = meaningOf(search)
      if (fault !== undefined) refused.set(key, { place, key, reason: `${search}: ${fault}` })
      else if (keys.length > 1 && !keys.includes(key)) refused.set(key, { place, key, reason: `${search} matches several resources` })
      else {
        const own = keys.length === 0 || keys.includes(key)
        const there = first.get(search) ?? (own ? key : keys[0]!)
        first.set(search, there)
        if (there !== key) others.set(key, there)
      }
    }
    return { others, refused }
  }
}
