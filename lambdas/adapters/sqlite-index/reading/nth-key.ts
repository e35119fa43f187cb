/** Selects a key by its rank, without sorting all keys. */
import { MISSING } from './sort-numbers.ts'

/** Returns the nth smallest key above `from`, or MISSING if there are fewer. */
export function nthAbove(keys: Float64Array, from: number, nth: number): number {
  const above = new Float64Array(keys.length)
  let n = 0
  for (let i = 0; i < keys.length; i++) if (keys[i]! > from) above[n++] = keys[i]!
  return n < nth ? MISSING : selected(above.subarray(0, n), nth - 1)
}

/**
 * Returns the value that would be at the index `place` if `values` were sorted (quickselect). Reorders `values`.
 * https://doi.org/10.1145/366622.366647
 */
function selected(values: Float64Array, place: number): number {
  let [low, high] = [0, values.length - 1]
  while (low < high) {
    const pivot = values[(low + high) >>> 1]!
    let [left, right] = [low, high]
    while (left <= right) {
      while (values[left]! < pivot) left++
      while (values[right]! > pivot) right--
      if (left > right) break
      const moved = values[left]!
      values[left++] = values[right]!
      values[right--] = moved
    }
    if (place <= right) high = right
    else if (place >= left) low = left
    else break
  }
  return values[place]!
}
