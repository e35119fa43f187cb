/** Sets of documents: their numbers, ascending, each once. */

export type Docs = Uint32Array

export const NO_DOCS: Docs = new Uint32Array(0)

/** Of numbers in any order, some perhaps twice. */
export function docsOf(numbers: Uint32Array): Docs {
  let [isAscending, highest, before] = [true, 0, 0]
  for (const number of numbers) {
    if (number <= before) isAscending = false
    if (number > highest) highest = number
    before = number
  }
  if (isAscending) return numbers
  return numbers.length > highest >>> 6 ? fromBits(bitsOf(numbers, highest), numbers) : distinct(numbers.sort())
}

export function union(sets: readonly Docs[]): Docs {
  if (sets.length === 1) return sets[0]!
  const all = new Uint32Array(sets.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const set of sets) {
    all.set(set, at)
    at += set.length
  }
  return docsOf(all)
}

/** What is in `a` and in `b`, or with `wanted` false what is in `a` alone. */
export function narrowed(a: Docs, b: Docs, wanted = true): Docs {
  const into = new Uint32Array(a.length)
  const bits = isSparse(b) || a.length < b.length >>> 5 ? undefined : bitsOf(b)
  let [n, at] = [0, 0]
  for (const doc of a) {
    if (bits === undefined) at = firstFrom(b, doc, at)
    if ((bits === undefined ? b[at] === doc : isIn(bits, doc)) === wanted) into[n++] = doc
  }
  return into.subarray(0, n)
}

/** So few of so many documents that a bit for each would cost more than searching. */
const isSparse = (docs: Docs): boolean => docs.length < (docs.at(-1) ?? 0) >>> 8

/** For looking up single documents. */
export type Bits = Uint32Array

export function bitsOf(numbers: Uint32Array, highest = numbers.at(-1) ?? 0): Bits {
  const bits = new Uint32Array((highest >>> 5) + 1)
  for (const number of numbers) bits[number >>> 5]! |= 1 << (number & 31)
  return bits
}

export const isIn = (bits: Bits, doc: number): boolean => ((bits[doc >>> 5] ?? 0) & (1 << (doc & 31))) !== 0

function fromBits(bits: Bits, into: Uint32Array): Docs {
  let n = 0
  for (let word = 0; word < bits.length; word++)
    for (let rest = bits[word]!; rest !== 0; rest &= rest - 1) into[n++] = (word << 5) + 31 - Math.clz32(rest & -rest)
  return into.subarray(0, n)
}

function distinct(ascending: Uint32Array): Docs {
  let n = 0
  for (const number of ascending) if (n === 0 || ascending[n - 1] !== number) ascending[n++] = number
  return ascending.subarray(0, n)
}

/** The place of the first that is not below, at or after `from`. */
function firstFrom(docs: Docs, least: number, from: number): number {
  let [low, high] = [from, docs.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (docs[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}
