/** Sets of document numbers: sparse ones as lists, dense ones as bits. Sets are shared and must not be modified. */

/** Document numbers in ascending order, without duplicates. */
export type DocList = Uint32Array
/** Document numbers as bits. Bit b of word i stands for the number 32 × (`base` + i) + b. `length`: number of documents in the set. */
export type DocBits = { readonly words: Uint32Array; readonly base: number; readonly length: number }
export type DocSet = DocList | DocBits

export const NO_DOCS: DocList = new Uint32Array(0)

/** Creates a list from numbers in any order, and removes duplicates. May reuse and overwrite `numbers`. */
export function docListOf(numbers: Uint32Array): DocList {
  let [isAscending, least, highest, before] = [true, DOC_NUMBER_END, 0, 0]
  for (const number of numbers) {
    if (number <= before) isAscending = false
    if (number < least) least = number
    if (number > highest) highest = number
    before = number
  }
  if (isAscending) return numbers
  return numbers.length > (highest - least) >>> 6 ? numbersOf(bitsOf(numbers, least, highest), numbers) : distinct(numbers.sort())
}

export const isList = (set: DocSet): set is DocList => set instanceof Uint32Array

export const listOf = (set: DocSet): DocList => (isList(set) ? set : numbersOf(set, new Uint32Array(set.length)))

export const toBits = (set: DocSet): DocBits => (isList(set) ? bitsOf(set, set[0] ?? 0, set.at(-1) ?? 0) : set)

/** Returns the set in the form that takes less memory. */
export function compact(set: DocSet): DocSet {
  if (isList(set)) return isDense(set.length, set.at(-1)! - set[0]!) ? toBits(set) : set
  return isDense(set.length, set.words.length << 5) ? set : listOf(set)
}

/** Whether bits take less memory than a list. `range`: distance from the first to the last number. */
export const isDense = (length: number, range: number): boolean => length > range >>> 5

export const hasDoc = ({ words, base }: DocBits, doc: number): boolean => ((words[(doc >>> 5) - base] ?? 0) & (1 << (doc & 31))) !== 0

/** Returns a lower bound for the numbers of the set. For a list, it is the first number. */
export const firstOf = (set: DocSet): number => (isList(set) ? (set[0] ?? 0) : set.base << 5)

/** Returns an upper bound for the numbers of the set. For a list, it is the last number. */
export const lastOf = (set: DocSet): number => (isList(set) ? (set.at(-1) ?? 0) : ((set.base + set.words.length) << 5) - 1)

export function union(sets: readonly DocSet[]): DocSet {
  const all = sets.filter(({ length }) => length > 0)
  if (all.length < 2) return all[0] ?? NO_DOCS
  let [length, least, highest] = [0, DOC_NUMBER_END, 0]
  for (const set of all) {
    length += set.length
    least = Math.min(least, firstOf(set))
    highest = Math.max(highest, lastOf(set))
  }
  return isDense(length, highest - least) ? unionInBits(all, least, highest) : unionInList(all, length)
}

/** Returns the documents in both sets. */
export function intersection(a: DocSet, b: DocSet): DocSet {
  if (isList(a)) return isList(b) && b.length < a.length ? filtered(within(b, a), a, true) : filtered(within(a, b), b, true)
  return isList(b) ? filtered(within(b, a), a, true) : compact(inBoth(a, b))
}

/** Returns the documents in `a` but not in `b`. */
export const difference = (a: DocSet, b: DocSet): DocSet => (isList(a) ? filtered(a, b, false) : compact(inOne(a, toBits(b))))

/** Whether the sets have a document in common. */
export function intersects(a: DocBits, b: DocSet): boolean {
  if (isList(b)) return b.some((doc) => hasDoc(a, doc))
  const end = Math.min(a.words.length, b.base + b.words.length - a.base)
  for (let i = Math.max(0, b.base - a.base); i < end; i++) if ((a.words[i]! & b.words[i + a.base - b.base]!) !== 0) return true
  return false
}

/** Returns the index of the first number ≥ `least`, at or after the index `from`, or the length of the list if there is none. */
export function lowerBoundIndex(docs: DocList, least: number, from: number): number {
  let [low, high] = [from, docs.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (docs[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}

/** Exclusive upper bound for document numbers, because lists store 32 bits per number. */
export const DOC_NUMBER_END = 2 ** 32

/** Returns numbers in any order as bits. All must be from `least` to `highest`. Duplicates make `length` of the result too large. */
function bitsOf(numbers: Uint32Array, least: number, highest: number): DocBits {
  const base = least >>> 5
  const words = new Uint32Array((highest >>> 5) - base + 1)
  mark(words, base, numbers)
  return { words, base, length: numbers.length }
}

export function docBitsOf(words: Uint32Array, base: number): DocBits {
  let length = 0
  // `| 0` makes the word a signed integer of 32 bits. JavaScript engines process larger numbers more slowly.
  for (let i = 0; i < words.length; i++) length += ones(words[i]! | 0)
  return { words, base, length }
}

/** Sets the bits of the documents. `words` must cover all of them. `base`: index of its first word, as in DocBits. */
function mark(words: Uint32Array, base: number, set: DocSet): void {
  if (isList(set)) for (const doc of set) words[(doc >>> 5) - base]! |= 1 << (doc & 31)
  else for (let i = 0, at = set.base - base; i < set.words.length; i++, at++) words[at]! |= set.words[i]!
}

/** Sets in `words` the bits of those documents of `set` that are from `first` to `last`, both included. `words` must cover them. */
export function markBetween(words: Uint32Array, base: number, set: DocBits, first: number, last: number): void {
  const [start, end] = [first >>> 5, last >>> 5]
  const [from, to] = [-1 << (first & 31), -1 >>> (31 - (last & 31))]
  for (let word = start; word <= end; word++) {
    const mask = (word === start ? from : -1) & (word === end ? to : -1)
    words[word - base]! |= set.words[word - set.base]! & mask
  }
}

/** Returns the number of bits that are set in a word of 32 bits. */
function ones(word: number): number {
  const pairs = (word - ((word >>> 1) & 0x55555555)) | 0
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

function numbersOf({ words, base }: DocBits, into: Uint32Array): DocList {
  let n = 0
  for (let i = 0; i < words.length; i++)
    for (let rest = words[i]!; rest !== 0; rest &= rest - 1) into[n++] = ((base + i) << 5) + 31 - Math.clz32(rest & -rest)
  return into.subarray(0, n)
}

function distinct(ascending: Uint32Array): DocList {
  let n = 0
  for (const number of ascending) if (n === 0 || ascending[n - 1] !== number) ascending[n++] = number
  return ascending.subarray(0, n)
}

function unionInBits(sets: readonly DocSet[], least: number, highest: number): DocBits {
  const base = least >>> 5
  const words = new Uint32Array((highest >>> 5) - base + 1)
  for (const set of sets) mark(words, base, set)
  return docBitsOf(words, base)
}

function unionInList(sets: readonly DocSet[], length: number): DocList {
  const all = new Uint32Array(length)
  let at = 0
  for (const set of sets) {
    all.set(listOf(set), at)
    at += set.length
  }
  return docListOf(all)
}

/** Returns the part of a list between the bounds of another set. */
const within = (list: DocList, set: DocSet): DocList =>
  list.subarray(lowerBoundIndex(list, firstOf(set), 0), lowerBoundIndex(list, lastOf(set) + 1, 0))

/** Returns the documents of the list that are in the set if `wanted` is true, otherwise those that are not. */
function filtered(list: DocList, set: DocSet, wanted: boolean): DocList {
  const into = new Uint32Array(list.length)
  const bits = isList(set) && (isSparse(set) || list.length < set.length >>> 5) ? undefined : toBits(set)
  let [n, at] = [0, 0]
  if (bits === undefined)
    for (const doc of list) {
      at = lowerBoundIndex(set as DocList, doc, at)
      if (((set as DocList)[at] === doc) === wanted) into[n++] = doc
    }
  else for (const doc of list) if (hasDoc(bits, doc) === wanted) into[n++] = doc
  return into.subarray(0, n)
}

/** Whether the list is so sparse that a binary search for each document costs less than converting the list to bits. */
const isSparse = (docs: DocList): boolean => docs.length <= (docs.at(-1)! - docs[0]!) >>> 8

function inBoth(a: DocBits, b: DocBits): DocBits {
  const base = Math.max(a.base, b.base)
  const end = Math.min(a.base + a.words.length, b.base + b.words.length)
  const words = a.words.slice(base - a.base, Math.max(base, end) - a.base)
  for (let i = 0, at = base - b.base; i < words.length; i++, at++) words[i]! &= b.words[at]!
  return docBitsOf(words, base)
}

function inOne(a: DocBits, b: DocBits): DocBits {
  const words = a.words.slice()
  const end = Math.min(words.length, b.base + b.words.length - a.base)
  for (let i = Math.max(0, b.base - a.base); i < end; i++) words[i]! &= ~b.words[i + a.base - b.base]!
  return docBitsOf(words, a.base)
}
