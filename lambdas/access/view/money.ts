/** Amounts of money, recognized by name and shape. https://hl7.org/fhir/R4/datatypes.html#Money, #MoneyQuantity */
import { isElement } from '../../fhir/resource.ts'

/**
 * Whether a member is a Money, or a Quantity in a currency, or a list with one. `valueMoney` may lack its currency, and only Money has
 * `currency`.
 */
export function isMoney(value: unknown, name: string): boolean {
  if (name.endsWith('Money')) return true
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return value.some((item) => isMoney(item, name))
  if (!isElement(value)) return false
  if ('currency' in value) return true
  // A Coding has `system` and `code` too, but no `value`.
  return 'value' in value && [value.system, value.unit, value.code].flat(Infinity).some(isCurrency)
}

/**
 * Whether a text is a currency code, the system of these codes, or a unit such as `$` or `US dollars`. Codes keep their case: `cup` is no
 * Cuban peso.
 */
const isCurrency = (text: unknown): boolean =>
  typeof text === 'string' && (text === 'urn:iso:std:iso:4217' || CURRENCIES.has(text) || /\p{Sc}|\b(?:usd|dollars?|cents?)\b/iu.test(text))

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))
