/** HTML that is escaped by construction. Every value in a template is escaped as text, unless another template created it. */

const MADE = Symbol('html')
export type Html = { readonly [MADE]: string }
export type HtmlPart = Html | string | number | undefined | false | readonly HtmlPart[]

/** Creates HTML. Values in attributes are safe only in quotes. undefined and false become empty text. */
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
