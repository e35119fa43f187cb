/** Code systems in which a rule decides about codes, without a list. */

/** UCUM units and their conversion. https://ucum.org/ucum */
export type UcumUnits = {
  readonly isUnit: (code: string) => boolean
  /** Returns undefined for an unknown unit, or one without relation to others. */
  readonly inBaseUnits: (code: string, value: number) => { readonly unit: string; readonly value: number } | undefined
}

export const UCUM = 'http://unitsofmeasure.org'
const LANGUAGES = 'urn:ietf:bcp:47'
const CURRENCIES = 'urn:iso:std:iso:4217'
const LOINC = 'http://loinc.org'
const SNOMED = 'http://snomed.info/sct'

/** Whether the code belongs to the system. undefined: no rule decides. */
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

/** Whether the check digit of a code is wrong: the code is mistyped or invented. */
export function hasWrongCheckDigit(system: string, code: string): boolean {
  if (system === LOINC) return /^\d{1,8}-\d$/.test(code) && !isLuhn(code.replace('-', ''))
  return system === SNOMED && /^\d+$/.test(code) && !(/^[1-9]\d{5,17}$/.test(code) && isVerhoeff(code))
}

/** Whether a text is a BCP 47 language tag. https://www.rfc-editor.org/info/bcp47 */
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

/** Whether the LOINC check digit is right (mod 10). https://loinc.org/kb/users-guide/ Appendix C */
function isLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}

/**
 * Verhoeff check digits: product in the dihedral group of order 10, and the permutation that is repeated by position.
 * https://confluence.ihtsdotools.org/display/DOCRELFMT/5.5+Check-digit
 */
const PRODUCT = (a: number, b: number): number =>
  a < 5 ? (b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5)) : b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5
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
