/** Exact decimal numbers, and the doubles nearest to them. The index stores doubles, but the arithmetic before must not round. */

/** Exact number: `digits` × 10^`exponent`. */
export type Decimal = { readonly digits: bigint; readonly exponent: number }

const FORM = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Parses a decimal number. Throws SyntaxError for a text that is not a number. */
export function decimalOf(text: string): Decimal {
  const [, sign, whole, fraction = '', exponent = '0'] = FORM.exec(text) ?? []
  if (whole === undefined) throw new SyntaxError('not a decimal number')
  const digits = BigInt(whole + fraction)
  return { digits: sign === '-' ? -digits : digits, exponent: Number(exponent) - fraction.length }
}

export const toNearestDouble = ({ digits, exponent }: Decimal): number => Number(`${digits}e${exponent}`)
