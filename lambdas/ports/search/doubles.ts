/** Numbers of double precision: their neighbours, and as text that is compared like them. */
const view = new DataView(new ArrayBuffer(8))
const SIGN = 1n << 63n
const ALL = (1n << 64n) - 1n

/** 16 hexadecimal digits. */
export function encodeDouble(value: number): string {
  // -0 is 0.
  view.setFloat64(0, value + 0)
  const bits = view.getBigUint64(0)
  return (bits & SIGN ? bits ^ ALL : bits | SIGN).toString(16).padStart(16, '0')
}

export function decodeDouble(text: string): number {
  const bits = BigInt(`0x${text}`)
  view.setBigUint64(0, bits & SIGN ? bits ^ SIGN : bits ^ ALL)
  return view.getFloat64(0)
}

/** The largest double below; infinities stay. */
export const nextDoubleBelow = (value: number): number => -nextDoubleAbove(-value)

/** The smallest double above; infinities stay. */
export function nextDoubleAbove(value: number): number {
  if (!Number.isFinite(value)) return value
  if (value === 0) return Number.MIN_VALUE
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return view.getFloat64(0)
}
