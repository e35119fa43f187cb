/** Suggestions for misspelled names. */

/**
 * Returns up to three similar names, the most similar first. At most a third of the letters differ, or one letter. Letter case is ignored.
 */
export function findNearNames(text: string, names: Iterable<string>): readonly string[] {
  const maxDistance = Math.max(1, Math.floor(text.length / 3))
  const near = [...new Set(names)].map((name) => [name, distance(text.toLowerCase(), name.toLowerCase())] as const)
  return near
    .filter(([, differing]) => differing <= maxDistance)
    .sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1))
    .slice(0, 3)
    .map(([name]) => name)
}

/** Returns a text to append to a message, which suggests similar names. Empty if there are none. */
export const suggestNames = (text: string, names: Iterable<string>): string => {
  const near = text.length > LONGEST ? [] : findNearNames(text, names)
  return near.length === 0 ? '' : `. Did you mean ${near.join(' or ')}?`
}

/** Maximum characters of a misspelled name. Longer names get no suggestions, because each character costs time. */
const LONGEST = 64

/** Returns the number of insertions, deletions, replacements and swaps of neighbours between two texts (optimal string alignment). */
function distance(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(Math.min(replaced, last[j]! + 1, row[j - 1]! + 1, isExchange ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY))
    }
    ;[before, last] = [last, row]
  }
  return last[b.length]!
}
