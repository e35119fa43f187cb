/** Code systems for which a rule decides whether a code exists, without a list of concepts. */

/** UCUM units and their conversion. https://ucum.org/ucum */
export type UcumUnits = {
  readonly isUnit: (code: string) => boolean
  /** Returns the quantity in base units. Returns undefined for an unknown unit, and for one that cannot be converted. */
  readonly inBaseUnits: (code: string, value: number) => { readonly unit: string; readonly value: number } | undefined
}

export const UCUM = 'http://unitsofmeasure.org'
const LANGUAGES = 'urn:ietf:bcp:47'
const CURRENCIES = 'urn:iso:std:iso:4217'
const LOINC = 'http://loinc.org'
const SNOMED = 'http://snomed.info/sct'

/** Whether the code belongs to the system. undefined: no rule decides, or there are no UCUM units. */
export function isCodeOf(system: string, code: string, units: UcumUnits | undefined): boolean | undefined {
  switch (system) {
    case UCUM:
      return units?.isUnit(code)
    case LANGUAGES:
      return isLanguage(code)
    case CURRENCIES:
      return isCurrency(code)
    default:
      return undefined
  }
}

/**
 * Whether a LOINC or SNOMED CT code is mistyped or invented: its check digit is wrong, or the length of a SNOMED CT code. False for other
 * systems.
 */
export function hasWrongCheckDigit(system: string, code: string): boolean {
  if (system === LOINC) return /^\d{1,8}-\d$/.test(code) && !isLuhn(code.replace('-', ''))
  return system === SNOMED && /^\d+$/.test(code) && !(/^[1-9]\d{5,17}$/.test(code) && isVerhoeff(code))
}

/** Whether a text is a BCP 47 language tag of at most 100 characters. https://www.rfc-editor.org/info/bcp47 */
function isLanguage(tag: string): boolean {
  try {
    return tag.length <= 100 && Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

let currencies: ReadonlySet<string> | undefined

function isCurrency(code: string): boolean {
  currencies ??= new Set(Intl.supportedValuesOf('currency'))
  return currencies.has(code)
}

/**
 * Whether the check digit of a LOINC code is right. `digits`: all its digits, the check digit last. https://loinc.org/kb/users-guide/
 * Appendix C
 */
function isLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}

/**
 * Product in the dihedral group of order 10, for the check digit of SNOMED CT (Verhoeff).
 * https://confluence.ihtsdotools.org/display/DOCRELFMT/5.5+Check-digit
 */
const PRODUCT = (a: number, b: number): number =>
  a < 5 ? (b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5)) : b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5
/** Permutation of digits for the Verhoeff check digit. A digit is permuted once per position, modulo 8. */
const TURNED = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]

function isVerhoeff(digits: string): boolean {
  let check = 0
  for (let i = 0; i < digits.length; i++) {
    let digit = Number(digits[digits.length - 1 - i])
    for (let turn = i % 8; turn > 0; turn--) digit = TURNED[digit]!
    check = PRODUCT(check, digit)
  }
  return check === 0
}
