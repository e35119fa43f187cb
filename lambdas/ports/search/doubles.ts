/** Double-precision numbers: the next lower and higher number, and a text form that sorts as the numbers do. */
const view = new DataView(new ArrayBuffer(8))
const SIGN = 1n << 63n
const ALL = (1n << 64n) - 1n

/** Returns 16 hexadecimal digits for a number. Their text order is the order of the numbers. */
export function encodeDouble(value: number): string {
  // Adding 0 turns -0 into 0, because both must have the same text.
  view.setFloat64(0, value + 0)
  const bits = view.getBigUint64(0)
  return (bits & SIGN ? bits ^ ALL : bits | SIGN).toString(16).padStart(16, '0')
}

export function decodeDouble(text: string): number {
  const bits = BigInt(`0x${text}`)
  view.setBigUint64(0, bits & SIGN ? bits ^ SIGN : bits ^ ALL)
  return view.getFloat64(0)
}

/** Returns the largest double below the value. Returns infinities unchanged. */
export const nextDoubleBelow = (value: number): number => -nextDoubleAbove(-value)

/** Returns the smallest double above the value. Returns infinities unchanged. */
export function nextDoubleAbove(value: number): number {
  if (!Number.isFinite(value)) return value
  if (value === 0) return Number.MIN_VALUE
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return view.getFloat64(0)
}
