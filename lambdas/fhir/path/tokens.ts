/** Tokenizer of FHIRPath text. http://hl7.org/fhirpath/N1/#lexical-elements */

export type Token = {
  readonly kind: 'string' | 'quoted' | 'date' | 'number' | 'environment' | 'word' | 'symbol'
  readonly text: string
}

/** Error for an expression that is invalid, or that this compiler leaves to the full evaluator. */
export class UnsupportedExpression extends Error {}

export function tokenize(text: string): readonly Token[] {
  const found: Token[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex
    const groups = TOKEN.exec(text)?.groups
    if (groups === undefined) throw new UnsupportedExpression(`unexpected ${text.slice(at, at + 10)}`)
    for (const kind of KINDS) {
      const part = groups[kind]
      if (part !== undefined) found.push({ kind, text: READ[kind]?.(part) ?? part })
    }
  }
  return found
}

const TOKEN = new RegExp(
  [
    /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//,
    /'(?<string>(?:[^'\\]|\\.)*)'/,
    /`(?<quoted>(?:[^`\\]|\\.)*)`/,
    /@(?<date>[0-9T:.+\-Z]+)/,
    /(?<number>\d+(?:\.\d+)?)/,
    /%(?<environment>`[^`]+`|'[^']+'|[A-Za-z_][\w-]*)/,
    /(?<word>[A-Za-z_]\w*)/,
    /(?<symbol>\$\w+|<=|>=|!=|!~|[.()[\]{},|=~<>+\-*/&])/,
  ]
    .map((pattern) => pattern.source)
    .join('|'),
  'y',
)

const KINDS = ['string', 'quoted', 'date', 'number', 'environment', 'word', 'symbol'] as const

const READ: { readonly [kind in Token['kind']]?: (text: string) => string } = {
  string: unescaped,
  quoted: unescaped,
  environment: (text) => text.replace(/[`']/g, ''),
}

function unescaped(text: string): string {
  return text.replace(/\\u([0-9a-fA-F]{4})|\\(.)/g, (_, hex: string | undefined, c: string) =>
    hex === undefined ? (ESCAPES[c] ?? c) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f' }
