/** Identifiers of organizations as text: `system|value`, as in searches. https://hl7.org/fhir/R4/search.html#token */

export type IdentifierText = { readonly system: string; readonly value: string }

/** Matches an absolute URI without the characters that separate values in searches. https://www.rfc-editor.org/rfc/rfc3986#section-4.3 */
const SYSTEM = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{C}|,$\\]{1,190}$/u
/** Matches 1 to 100 visible characters without these characters. */
const VALUE = /^[^\s\p{C}|,$\\](?:[^\p{C}|,$\\]{0,98}[^\s\p{C}|,$\\])?$/u

/** Returns the identifier, or undefined if the text is malformed. */
export function parseIdentifierText(text: string): IdentifierText | undefined {
  const [system = '', value = '', ...more] = text.split('|')
  return more.length === 0 && SYSTEM.test(system) && VALUE.test(value) ? { system, value } : undefined
}

/** Returns the identifiers of a list separated by commas, or undefined if one is malformed. */
export function parseIdentifierList(text: string): readonly IdentifierText[] | undefined {
  if (text === '') return []
  const identifiers = text.split(',').map((each) => parseIdentifierText(each.trim()))
  return identifiers.every((each) => each !== undefined) ? identifiers : undefined
}

export const identifierTextOf = ({ system, value }: IdentifierText): string => `${system}|${value}`
