/** Packs document numbers. Each is stored as its distance from the previous one, with seven bits per byte, lowest bits first. */

/** Packs ascending numbers from the index `start` up to, and without, `end`. `before`: number from which the first distance is measured. */
export function packNumbers(numbers: ArrayLike<number>, start: number, end: number, before: number): Uint8Array {
  if (scratch.length < (end - start) * 5) scratch = new Uint8Array((end - start) * 10)
  let [size, last] = [0, before]
  for (let i = start; i < end; i++) {
    let distance = numbers[i]! - last
    last = numbers[i]!
    for (; distance > 127; distance >>>= 7) scratch[size++] = (distance & 127) | 128
    scratch[size++] = distance
  }
  return scratch.slice(0, size)
}

/** Unpacks the numbers into `into`, from the index `at` on. Returns the index after them. `before`: same number as for packing. */
export function unpackNumbers(bytes: Uint8Array, before: number, into: Uint32Array, at: number): number {
  let last = before
  let end = at
  for (let i = 0; i < bytes.length; ) {
    let byte = bytes[i++]!
    let distance = byte & 127
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[i++]!
      distance |= (byte & 127) << shift
    }
    last += distance
    into[end++] = last
  }
  return end
}

/** Output buffer of all calls, which never overlap. It grows with the longest list. */
let scratch = new Uint8Array(5_000)
