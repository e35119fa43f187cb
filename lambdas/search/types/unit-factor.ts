/**
 * Factors between UCUM units and base units, exact as UCUM defines them. The library multiplies doubles, which rounds: 10*3/uL is
 * 999999999999.9999 there. https://ucum.org/ucum
 */
import { UnitTables } from '@lhncbc/ucum-lhc'
import { type Decimal, decimalOf, toNearestDouble } from './decimal.ts'

/** Factor: `digits` × 10^`exponent` / `divisor`, in lowest terms. `divisor` is 1 if the factor is a decimal number. */
export type UnitFactor = Decimal & { readonly divisor: bigint }

/**
 * Maximum digits of a factor, divisor included: more than the exact product of any clinical unit has. A longer factor is replaced by a
 * rounded decimal number.
 */
const MAX_DIGITS = 300
/** Significant digits of a quotient before it is rounded to a double. */
const QUOTIENT_DIGITS = 40

/** Returns the double nearest to number × factor. Equal products, in whatever units, give the same double. */
export function multiplyByFactor({ digits, exponent }: Decimal, factor: UnitFactor): number {
  const product = { digits: digits * factor.digits, exponent: exponent + factor.exponent }
  if (factor.divisor === 1n) return toNearestDouble(product)
  const digitCount = QUOTIENT_DIGITS + String(factor.divisor).length
  return toNearestDouble({ digits: (product.digits * 10n ** BigInt(digitCount)) / factor.divisor, exponent: product.exponent - digitCount })
}

/**
 * Returns the exact factor of a unit. `magnitude`: factor that the library uses, as a double. If it differs, or the definition is unknown,
 * returns the magnitude rounded to 15 digits.
 */
export function factorOf(code: string, magnitude: number): UnitFactor {
  return near(definedFactor(code), magnitude) ?? { ...decimalOf(magnitude.toPrecision(15)), divisor: 1n }
}

const near = (factor: UnitFactor | undefined, magnitude: number): UnitFactor | undefined =>
  factor !== undefined && Math.abs(multiplyByFactor(ONE, factor) / magnitude - 1) < 1e-12 ? factor : undefined

const ONE: UnitFactor = { digits: 1n, exponent: 0, divisor: 1n }

/** Returns the exact factor of a unit expression. Returns undefined if it is not a product of powers of defined units. */
function definedFactor(code: string): UnitFactor | undefined {
  const tokens = code.match(/[./()]|\{[^{}]*\}|(?:\[[^\]]*\]|[^./()[\]{}])+/g) ?? []
  let at = 0
  const factor = term()
  return at === tokens.length ? factor : undefined

  function term(): UnitFactor | undefined {
    let product: UnitFactor | undefined = ONE
    let isDivided = tokens[at] === '/'
    if (isDivided) at++
    for (;;) {
      const next = component()
      if (next === undefined) return undefined
      product = product && productOf(product, isDivided ? powerOf(next, -1) : next)
      if (tokens[at] !== '.' && tokens[at] !== '/') return product
      isDivided = tokens[at++] === '/'
    }
  }

  function component(): UnitFactor | undefined {
    const token = tokens[at++]
    if (token === undefined) return undefined
    if (token === '(') {
      const inner = term()
      return tokens[at++] === ')' ? inner : undefined
    }
    if (token.startsWith('{')) return ONE
    if (tokens[at]?.startsWith('{')) at++
    return simpleFactor(token)
  }
}

/** Returns the factor of a unit without operators: `10*3`, `cm2`, `100`. Returns undefined if it is unknown. */
function simpleFactor(text: string): UnitFactor | undefined {
  if (/^\d+$/.test(text)) return inLowestTerms({ ...decimalOf(text), divisor: 1n })
  const [, symbol = '', exponent = '1'] = /^(.*?)([+-]?\d+)?$/.exec(text) ?? []
  const factor = atomFactor(symbol) ?? prefixedFactor(symbol)
  return factor && powerOf(factor, Number(exponent))
}

function atomFactor(code: string): UnitFactor | undefined {
  const unit = UnitTables.getInstance().getUnitByCode(code)
  if (unit?.isBase_ === true) return ONE
  if (!unit?.csUnitString_ || !unit.baseFactorStr_) return undefined
  const base = definedFactor(unit.csUnitString_)
  // The table also contains example units with a definition that is only their last part: mL has that of l. `near` rejects them.
  return near(base && productOf(base, { ...decimalOf(unit.baseFactorStr_), divisor: 1n }), unit.magnitude_)
}

function prefixedFactor(symbol: string): UnitFactor | undefined {
  for (const length of [2, 1]) {
    const value = PREFIXES[symbol.slice(0, length)]
    const atom = value === undefined ? undefined : atomFactor(symbol.slice(length))
    if (value !== undefined && atom !== undefined) return productOf(atom, { ...decimalOf(value), divisor: 1n })
  }
  return undefined
}

/** Values of the UCUM prefixes. https://ucum.org/ucum#section-Prefixes */
const PREFIXES: Readonly<Record<string, string>> = {
  Y: '1e24',
  Z: '1e21',
  E: '1e18',
  P: '1e15',
  T: '1e12',
  G: '1e9',
  M: '1e6',
  k: '1e3',
  h: '1e2',
  da: '1e1',
  d: '1e-1',
  c: '1e-2',
  m: '1e-3',
  u: '1e-6',
  n: '1e-9',
  p: '1e-12',
  f: '1e-15',
  a: '1e-18',
  z: '1e-21',
  y: '1e-24',
  Ki: '1024',
  Mi: '1048576',
  Gi: '1073741824',
  Ti: '1099511627776',
}

const productOf = (a: UnitFactor, b: UnitFactor | undefined): UnitFactor | undefined =>
  b && inLowestTerms({ digits: a.digits * b.digits, exponent: a.exponent + b.exponent, divisor: a.divisor * b.divisor })

function powerOf({ digits, exponent, divisor }: UnitFactor, power: number): UnitFactor | undefined {
  const count = Math.abs(power)
  if ((String(digits).length + String(divisor).length) * count > MAX_DIGITS) return undefined
  const [above, below] = power < 0 ? [divisor, digits] : [digits, divisor]
  return inLowestTerms({ digits: above ** BigInt(count), exponent: exponent * power, divisor: below ** BigInt(count) })
}

/**
 * Reduces a factor to lowest terms. Tens, and twos and fives of the divisor, move into the exponent. Returns undefined if the factor is 0
 * or has more than `MAX_DIGITS` digits.
 */
function inLowestTerms({ digits, exponent, divisor }: UnitFactor): UnitFactor | undefined {
  if (digits === 0n || String(digits).length + String(divisor).length > MAX_DIGITS) return undefined
  let [above, below, tens] = [digits, divisor, exponent]
  for (; below % 2n === 0n; tens--) [above, below] = [above * 5n, below / 2n]
  for (; below % 5n === 0n; tens--) [above, below] = [above * 2n, below / 5n]
  const common = greatestDivisor(above, below)
  ;[above, below] = [above / common, below / common]
  for (; above % 10n === 0n; tens++) above /= 10n
  return { digits: above, exponent: tens, divisor: below }
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestDivisor(b, a % b)
}
