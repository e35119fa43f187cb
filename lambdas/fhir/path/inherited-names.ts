/** Names that every object of JavaScript has, and what fhirpath.js hands out besides FHIR: to expressions they are as names that nothing has. */

const INHERITED = Object.getOwnPropertyNames(Object.prototype).join('|')
/** Texts and comments stay; a function has its brackets, and is known or not; `%factory` makes what was never sent. */
const NAMES = new RegExp(
  String.raw`'(?:[^'\\]|\\[^])*'|//.*|/\*[^]*?\*/|` +
    String.raw`(\x60[^\x60]*\\[^\x60]*\x60)|(?<![\w$])(${INHERITED})(?![\w$])(?!\s*\()|(?<=%\s*[\x60'"]?)(factory)(?!\w)`,
  'g',
)

/** As long as it was, so that places in it stay. */
export const maskInheritedNames = (expression: string): string =>
  expression.replace(NAMES, (found, escaped?: string, inherited?: string, handedOut?: string) => {
    if (escaped !== undefined) return found.replaceAll('\\', '_')
    const name = inherited ?? handedOut
    return name === undefined ? found : `${name.slice(0, -1)}0`
  })
