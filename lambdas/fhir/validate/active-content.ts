/** Character references in XHTML, and attributes in which a browser may run a script. https://hl7.org/fhir/R4/narrative.html#security */

/** Character reference, or one of the five entities of XML without a DTD. https://www.w3.org/TR/xml/#sec-references */
const REFERENCE = /&(?:#x0*([\dA-Fa-f]{1,6})|#0*(\d{1,7})|amp|lt|gt|quot|apos);/g

/** Whether each `&` begins a valid character reference or one of the five entities of XML. */
export const hasOnlyCharacterReferences = (text: string): boolean =>
  !text.includes('&') ||
  !text.replace(REFERENCE, (whole, hex, decimal) => (isCodePoint(codeOf(hex, decimal) ?? 1) ? '' : whole)).includes('&')

/** Returns the code point of a numeric character reference, or undefined for an entity such as `&amp;`. */
function codeOf(hex: string | undefined, decimal: string | undefined): number | undefined {
  if (hex !== undefined) return Number.parseInt(hex, 16)
  return decimal === undefined ? undefined : Number(decimal)
}

const isCodePoint = (code: number): boolean => code > 0 && code <= 0x10ffff

const characterOf = (code: number): string => (isCodePoint(code) ? String.fromCodePoint(code) : '')

const LINKS: ReadonlySet<string> = new Set(['cite', 'href', 'longdesc', 'src'])
const SCRIPT = '(?:javascript|vbscript):|data:text/html'
const ACTIVE_LINK = new RegExp(`^(?:${SCRIPT})`, 'i')
const ACTIVE_STYLE = new RegExp(SCRIPT, 'i')

/**
 * Whether a browser may run a script when it follows the link or applies the style. Call it only for values that passed
 * `hasOnlyCharacterReferences`: other references are not decoded.
 */
export function isActiveAttribute(attribute: string, value: string): boolean {
  if (LINKS.has(attribute)) return ACTIVE_LINK.test(squeezed(decoded(value)))
  return attribute === 'style' && ACTIVE_STYLE.test(squeezed(unescaped(decoded(value))))
}

const decoded = (value: string): string =>
  value.replace(REFERENCE, (whole, hex, decimal) => {
    const code = codeOf(hex, decimal)
    return code === undefined ? whole : characterOf(code)
  })

/** Decodes the escapes of CSS. https://www.w3.org/TR/css-syntax-3/#consume-escaped-code-point */
const unescaped = (style: string): string =>
  style.replace(/\\(?:([\da-f]{1,6})\s?|(.))/gis, (_, hex, other) => other ?? characterOf(Number.parseInt(hex, 16)))

/**
 * Removes white space and control characters. Browsers ignore tabs and line ends in a URL, and all white space and control characters
 * before it. https://url.spec.whatwg.org/#url-parsing
 */
const squeezed = (value: string): string => value.replace(/[\0-\x20]/g, '')
