/** What codes and identifiers are found, sorted and grouped by. https://hl7.org/fhir/R4/search.html#token */
import { type Element, isElement } from '../../fhir/resource.ts'
import { cacheByCode } from '../interned-texts.ts'
import type { TypedValue } from '../parameters.ts'

export type Token = {
  /** `system|code`. */
  readonly keys: readonly string[]
  /** Undefined: a system alone. */
  readonly code: string | undefined
  readonly sort: string | undefined
  /** Undefined: by its keys. */
  readonly group: { readonly code: string; readonly both: string } | undefined
}

/** Before values that are compared without case, so that they never equal a value that is compared with it. */
export const FOLDED_KEY_PREFIX = '\u0001'

const SPECIAL = 'http://terminology.hl7.org/CodeSystem/special-values'
const MOST_KNOWN = 5_000

export function tokensOf({ type, value, system }: TypedValue): readonly Token[] {
  if (isElement(value)) return tokensOfElement(type, value)
  if (type === 'id') return typeof value === 'string' ? [tokenOfId(value)] : NONE
  if (typeof value === 'boolean') return [tokenOfText(SPECIAL, String(value))]
  if (typeof value !== 'string') return NONE
  if (type !== 'code') return [tokenOfText(system ?? '', value)]
  return [system === undefined ? tokenOfCode('', value) : tokenOfBoundCode(system, value)]
}

export const codingsOf = ({ coding }: Element): readonly Element[] =>
  Array.isArray(coding) ? (coding.every(isElement) ? coding : coding.filter(isElement)) : NONE

const NONE: readonly never[] = []

function tokensOfElement(type: string, value: Element): readonly Token[] {
  switch (type) {
    case 'CodeableConcept': {
      const codings = codingsOf(value)
      return codings.length === 1 ? tokensOfCoding(codings[0]!) : codings.flatMap(tokensOfCoding)
    }
    case 'Coding':
      return tokensOfCoding(value)
    case 'Identifier':
    case 'ContactPoint':
      return typeof value.value === 'string' ? [tokenOfIdentifier(textOf(value.system), value.value)] : systemAlone(value.system)
    default:
      return NONE
  }
}

function tokensOfCoding({ system, code }: Element): readonly Token[] {
  if (typeof code === 'string') return [tokenOfCoding(textOf(system), code)]
  return systemAlone(system)
}

const systemAlone = (system: unknown): readonly Token[] =>
  typeof system === 'string' ? [{ keys: [`${system}|`], code: undefined, sort: undefined, group: undefined }] : NONE

const tokenOfCoding = cacheByCode(MOST_KNOWN, (system, code) => tokenOf(system, code, code, undefined))

/** It is grouped by its text: its system is not in the resource. */
const tokenOfText = (system: string, text: string): Token => tokenOf(system, text, text, { code: text, both: text })

const tokenOfCode = cacheByCode(MOST_KNOWN, (system, code) => tokenOf(system, code, folded(code), { code, both: code }))

/** Its binding has one system: it is also found as a code without one. */
const tokenOfBoundCode = cacheByCode(MOST_KNOWN, (system, code): Token => {
  const token = tokenOfCode(system, code)
  return { ...token, keys: [...token.keys, `|${token.code}`] }
})

const tokenOfIdentifier = (system: string, value: string): Token =>
  tokenOf(system, value, folded(value), { code: value, both: `${system}|${value}` })

/** An id has no system: one key does for it. */
const tokenOfId = (id: string): Token => ({ keys: NONE, code: id, sort: `\u0000${id}`, group: { code: id, both: id } })

/** `text`: the code as it is compared. */
const tokenOf = (system: string, code: string, text: string, group: Token['group']): Token => ({
  keys: [`${system}|${text}`],
  code: text,
  sort: system.length + code.length <= LONGEST_SORTED ? `${system}\u0000${code}` : undefined,
  group,
})

const LONGEST_SORTED = 1_000

const folded = (code: string): string => FOLDED_KEY_PREFIX + code.toLowerCase()

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
