/** Keys, sort values and groups of codes and identifiers. https://hl7.org/fhir/R4/search.html#token */
import { type Element, isElement } from '../../fhir/resource.ts'
import { cacheByCode } from '../interned-texts.ts'
import type { TypedValue } from '../parameters.ts'

export type Token = {
  /** Index keys of the form `system|code`. */
  readonly keys: readonly string[]
  /** Code as searches compare it, folded if they ignore case. Undefined if there is only a system. */
  readonly code: string | undefined
  readonly sort: string | undefined
  /** Group of a token whose group is not its key, such as a folded one. Undefined: its keys are its groups. */
  readonly group: { readonly code: string; readonly both: string } | undefined
}

/** Marks keys that are compared without case, so that they never equal a key that is compared with case. */
export const FOLDED_KEY_PREFIX = '\u0001'

const SPECIAL = 'http://terminology.hl7.org/CodeSystem/special-values'
const MAX_CACHED = 5_000

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

const tokenOfCoding = cacheByCode(MAX_CACHED, (system, code) => tokenOf(system, code, code, undefined))

/** Returns the token of a text or boolean. Its group is the text alone, because the resource does not contain the system. */
const tokenOfText = (system: string, text: string): Token => tokenOf(system, text, text, { code: text, both: text })

const tokenOfCode = cacheByCode(MAX_CACHED, (system, code) => tokenOf(system, code, folded(code), { code, both: code }))

/** Returns the token of a code whose binding fixes the system. Searches also find it as a code without a system (`|code`). */
const tokenOfBoundCode = cacheByCode(MAX_CACHED, (system, code): Token => {
  const token = tokenOfCode(system, code)
  return { ...token, keys: [...token.keys, `|${token.code}`] }
})

const tokenOfIdentifier = (system: string, value: string): Token =>
  tokenOf(system, value, folded(value), { code: value, both: `${system}|${value}` })

/** Returns the token of an id. An id has no system, so it has no keys with a system. */
const tokenOfId = (id: string): Token => ({ keys: NONE, code: id, sort: `\u0000${id}`, group: { code: id, both: id } })

/** Returns a token. `text`: the code as searches compare it. */
const tokenOf = (system: string, code: string, text: string, group: Token['group']): Token => ({
  keys: [`${system}|${text}`],
  code: text,
  sort: system.length + code.length <= LONGEST_SORTED ? `${system}\u0000${code}` : undefined,
  group,
})

const LONGEST_SORTED = 1_000

const folded = (code: string): string => FOLDED_KEY_PREFIX + code.toLowerCase()

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
