/** A part of what is too much to try in full: chosen by a seed, and evenly. */

/** Numbers from a seed, each as likely as the others. */
export function createDice(seed: number): <T>(of: readonly T[]) => T {
  let state = seed
  return (of) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return of[Math.floor((state / 2 ** 32) * of.length)]!
  }
}

/** In an order by chance, but those first that have a part which none before them has: a few of them have every part. */
export function spreadOverParts<T>(all: readonly T[], seed: number, partsOf: (each: T) => readonly string[]): readonly T[] {
  const rest = [...all]
  const roll = createDice(seed)
  const shuffled = all.map(() => {
    const index = roll([...rest.keys()])
    return rest.splice(index, 1)[0]!
  })
  const known = new Set<string>()
  const first: T[] = []
  const others: T[] = []
  for (const each of shuffled) {
    const parts = partsOf(each)
    ;(parts.every((part) => known.has(part)) ? others : first).push(each)
    for (const part of parts) known.add(part)
  }
  return [...first, ...others]
}

/** So many pairs: each of the one as often as the others, and each of the other. */
export const pairEvenly = <A, B>(count: number, as: readonly A[], bs: readonly B[]): readonly (readonly [A, B])[] =>
  Array.from({ length: count }, (_, i) => [as[i % as.length]!, bs[(i + Math.floor(i / as.length)) % bs.length]!] as const)
