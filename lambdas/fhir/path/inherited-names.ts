/**
 * Names that every JavaScript object has, and names beyond FHIR that fhirpath.js offers. In expressions they are replaced by names that no
 * element has.
 */

const INHERITED = Object.getOwnPropertyNames(Object.prototype).join('|')
/**
 * Pattern of these names. It also matches string literals and comments, which stay unchanged. A name before a parenthesis is a function,
 * and fhirpath.js decides whether it exists. `%factory` creates elements that the resource does not have.
 */
const NAMES = new RegExp(
  String.raw`'(?:[^'\\]|\\[^])*'|//.*|/\*[^]*?\*/|` +
    String.raw`(\x60[^\x60]*\\[^\x60]*\x60)|(?<![\w$])(${INHERITED})(?![\w$])(?!\s*\()|(?<=%\s*[\x60'"]?)(factory)(?!\w)`,
  'g',
)

/** Returns the expression with these names replaced. Its length stays the same, so that positions in error messages remain valid. */
export const maskInheritedNames = (expression: string): string =>
  expression.replace(NAMES, (found, escaped?: string, inherited?: string, handedOut?: string) => {
    if (escaped !== undefined) return found.replaceAll('\\', '_')
    const name = inherited ?? handedOut
    return name === undefined ? found : `${name.slice(0, -1)}0`
  })
