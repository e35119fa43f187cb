/**
 * Sorts texts by UTF-16 code units, which nearly always equals the order of the rows on disk. Many texts are sorted in steps: as runs that
 * are then merged.
 */

/** Number of texts that are sorted or merged between two yields, in a few milliseconds. */
const RUN = 5_000

export function* sortInPieces(texts: readonly string[]): Generator<undefined, readonly string[]> {
  let runs: (readonly string[])[] = []
  for (let i = 0; i < texts.length; i += RUN) {
    if (i > 0) yield
    runs.push(texts.slice(i, i + RUN).sort())
  }
  while (runs.length > 1) {
    const merged: (readonly string[])[] = []
    for (let i = 0; i < runs.length; i += 2) merged.push(i + 1 < runs.length ? yield* merge(runs[i]!, runs[i + 1]!) : runs[i]!)
    runs = merged
  }
  return runs[0] ?? []
}

function* merge(one: readonly string[], other: readonly string[]): Generator<undefined, readonly string[]> {
  const merged: string[] = []
  for (let i = 0, j = 0; i < one.length || j < other.length; ) {
    merged.push(j === other.length || (i < one.length && one[i]! <= other[j]!) ? one[i++]! : other[j++]!)
    if (merged.length % RUN === 0) yield
  }
  return merged
}
