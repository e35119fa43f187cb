/** Validation of narratives: XHTML that FHIR allows (txt-1, txt-2), without active content. https://hl7.org/fhir/R4/narrative.html#xhtml */
import { hasOnlyCharacterReferences, isActiveAttribute } from './active-content.ts'

/** Returns the problem of the XHTML in Narrative.div, or undefined if it is valid. */
export function findNarrativeProblem(source: string): string | undefined {
  const text = source.replace(/^\s*<\?xml[^>]*\?>/, '').trim()
  const open: string[] = []
  let hasContent = false
  let end = 0
  PIECE.lastIndex = 0
  for (let piece = PIECE.exec(text); piece !== null; piece = PIECE.exec(text)) {
    const between = text.slice(end, piece.index)
    hasContent ||= between.trim() !== ''
    end = PIECE.lastIndex
    const [whole, closing, name, attributes = '', alone] = piece
    if (whole === '<') return 'The narrative is not well-formed XHTML'
    if (!hasOnlyCharacterReferences(between) || !hasOnlyCharacterReferences(attributes)) return ENTITY
    if (name === undefined) continue
    if (open.length === 0 && (piece.index !== 0 || name !== 'div' || closing === '/')) return 'The narrative must be one div element'
    if (closing === '/') {
      if (open.pop() !== name) return 'The elements of the narrative are not closed in order'
      continue
    }
    const fault = tagFault(name, attributes)
    if (fault !== undefined) return fault
    hasContent ||= name === 'img'
    if (alone === '') open.push(name)
  }
  if (open.length > 0 || end !== text.length || end === 0) return 'The narrative is not well-formed XHTML'
  return hasContent ? undefined : 'The narrative has no content (txt-2)'
}

/** Matches a comment, a tag, or a `<` that begins neither. */
const PIECE = /<!--[\s\S]*?-->|<(\/?)([A-Za-z][\w:]*)((?:\s+[\w:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|</g

const ATTRIBUTE = /([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g

const ENTITY =
  'XHTML in FHIR has the entities &amp; &lt; &gt; &quot; &apos; only. Write other characters as they are, or by number: &#160; for &nbsp;'

function tagFault(name: string, attributes: string): string | undefined {
  if (!ELEMENTS.has(name)) return `The element ${name.slice(0, 32)} is not allowed in a narrative (txt-1)`
  if (attributes === '') return undefined
  for (const [, attribute, quoted, value = quoted] of attributes.matchAll(ATTRIBUTE)) {
    if (!ATTRIBUTES.has(attribute!) && !attribute!.startsWith('xmlns'))
      return `The attribute ${attribute!.slice(0, 32)} is not allowed in a narrative (txt-1)`
    // guard: narrative-without-active-content
    if (isActiveAttribute(attribute!, value!))
      return `javascript:, vbscript: and data:text/html are not allowed in the ${attribute} of a narrative`
  }
  return undefined
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const ELEMENTS = words(
  'a abbr acronym area b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i img li map ol p pre q samp ' +
    'small span strong sub sup table tbody td tfoot th thead tr tt ul var',
)

const ATTRIBUTES = words(
  'abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite class color colspan compact ' +
    'coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev rowspan rules scope shape span src start style summary ' +
    'tabindex title type valign value vspace width xml:lang xmlns',
)
