/** Cuts a large array out of the JSON of an object without parsing it. */

/** `slices`: the items, as texts that `[…]` makes arrays. `rest`: the object with an empty array. They share the memory of the body. */
export type SlicedArray = { readonly slices: readonly Buffer[]; readonly rest: readonly Buffer[] }

/** Minimum bytes of a slice. Parsing one takes less than a millisecond, unless a single item is longer. */
const SLICE = 65_536

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN = { array: 91, object: 123 }
const CLOSE = { array: 93, object: 125 }

/**
 * Cuts the array with this name out of an object. An array whose name has escapes, and any other value, remain in the rest. `body`: valid
 * JSON in UTF-8. `pause`: called between parts, so that other requests can run.
 */
export async function sliceArray(body: Uint8Array, name: string, pause?: () => Promise<void> | undefined): Promise<SlicedArray> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  const wanted = Buffer.from(`"${name}"`)
  const slices: Buffer[] = []
  const rest: Buffer[] = []
  let copied = 0
  let depth = 0
  /** Start of the open slice. Absent outside the array. */
  let start: number | undefined
  /** Whether the last string of the object itself is the name. It is the name of the value that follows. */
  let isWanted = false
  let due = SLICE
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i]
    if (c === QUOTE) {
      const end = endOfString(bytes, i)
      if (depth === 1) isWanted = end + 1 - i === wanted.length && bytes.subarray(i, end + 1).equals(wanted)
      i = end
    } else if (c === OPEN.array || c === OPEN.object) {
      if (depth === 1 && isWanted && c === OPEN.array) {
        start = i + 1
        rest.push(bytes.subarray(copied, start))
      }
      depth++
    } else if (c === CLOSE.array || c === CLOSE.object) {
      depth--
      if (depth === 1 && start !== undefined) {
        slices.push(bytes.subarray(start, i))
        start = undefined
        copied = i
      }
    } else if (c === COMMA && depth === 2 && start !== undefined && i - start >= SLICE) {
      slices.push(bytes.subarray(start, i))
      start = i + 1
    }
    if (i >= due) {
      await pause?.()
      due = i + SLICE
    }
  }
  rest.push(bytes.subarray(copied))
  return { slices, rest }
}

/** Returns the index of the closing quote of the string that begins at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  let i = start + 1
  for (; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
  return i
}
