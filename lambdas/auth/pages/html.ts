/** HTML that is escaped by construction: whatever stands in a template is text, unless it is HTML that was made here. */

const MADE = Symbol('html')
export type Html = { readonly [MADE]: string }
export type HtmlPart = Html | string | number | undefined | false | readonly HtmlPart[]

/** Attributes are quoted where they stand. undefined and false are nothing. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html => ({
  [MADE]: strings.reduce((text, string, i) => text + textOf(parts[i - 1]) + string),
})

export const toHtmlText = (made: Html): string => made[MADE]

function textOf(part: HtmlPart): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'object') return isMade(part) ? part[MADE] : part.map(textOf).join('')
  return String(part).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}

const isMade = (part: Html | readonly HtmlPart[]): part is Html => !Array.isArray(part)
