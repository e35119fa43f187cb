/**
 * Resolves entries with ifNoneExist, which are created only if no match exists. Several files may hold the same hospital under different
 * ids.
 */
import type { LoadFailure, ParsedEntries } from './load-entries.ts'
import type { ReferenceLookup } from './reference-lookup.ts'

/**
 * Results by the Type/id of the entry. `others`: Type/id of the resource that is used instead of the entry. `refused`: reason why the entry
 * can be neither created nor replaced.
 */
export type Replacements = { readonly others: ReadonlyMap<string, string>; readonly refused: ReadonlyMap<string, LoadFailure> }

export type ReplacementFinder = (opened: ParsedEntries, place: string) => Promise<Replacements>

const NONE: Replacements = { others: new Map(), refused: new Map() }

/**
 * Creates the finder of one load. The first resource with given criteria is created, unless the server has a match. That resource or match
 * replaces all later ones.
 */
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
        const existing = first.get(search) ?? (own ? key : keys[0]!)
        first.set(search, existing)
        if (existing !== key) others.set(key, existing)
      }
    }
    return { others, refused }
  }
}
