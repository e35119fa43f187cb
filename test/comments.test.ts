/** The language of comments: sentences about components, which a reader understands without the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const ROOMS = [
  ...readdirSync('lambdas', { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map(({ name }) => `lambdas/${name}`),
  'lib',
  'bin',
  'search-mappings',
]
/** Fragments that need their code, and questions. */
const OPENING = /^(?:What|Who|Whom|Whose|Whoever|Whatever|Of|By|As|Those|These|Nor|Nobody|Somebody|Anybody|For which|Which|Told|And|So)\b/
const FINE =
  /^(?:As of|As in|By default|By contrast|Those of RFC|Of the form|By (?:resource )?type:|By then|As (?:long|soon|many|much) as|These [a-z]+)\b/
const WORDS =
  /\b(?:nobody|somebody|anybody|whoever|whomever|(?:is|are|was|be) told|the one (?:who|that)|that which|those who|anew|is asked|counts no more)\b/i

type Comment = { readonly line: number; readonly text: string }

/** Returns a line without the marks of a comment. */
const bare = (line: string): string => line.replace(/\*\/.*/, '').replace(/^\s*(?:\/\*\*|\*|\/\/)/, '')

/** Returns the comments that stand on lines of their own. Lines of one comment are joined, and code in backticks is left out. */
function commentsOf(source: string): readonly Comment[] {
  const found: { readonly line: number; readonly lines: string[]; readonly isBlock: boolean }[] = []
  let isOpen = false
  for (const [at, line] of source.split('\n').entries()) {
    const last = found.at(-1)
    if (isOpen) last!.lines.push(bare(line))
    else if (/^\s*\/\*\*/.test(line)) found.push({ line: at + 1, lines: [bare(line)], isBlock: true })
    else if (!/^\s*\/\//.test(line)) continue
    else if (last !== undefined && !last.isBlock && last.line + last.lines.length === at + 1) last.lines.push(bare(line))
    else found.push({ line: at + 1, lines: [bare(line)], isBlock: false })
    isOpen = found.at(-1)!.isBlock && (isOpen || /^\s*\/\*\*/.test(line)) && !line.includes('*/')
  }
  return found.map(({ line, lines }) => ({
    line,
    text: lines
      .join(' ')
      .replaceAll(/`[^`]*`/g, '`')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  }))
}

const isPlain = (text: string): boolean =>
  /^(?:biome-ignore|guard:)/.test(text) || ((FINE.test(text) || !OPENING.test(text)) && !WORDS.test(text))

type Place = Comment & { readonly path: string }

const commentsIn = (room: string): readonly Place[] =>
  readdirSync(room, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .toSorted()
    .flatMap((path) => commentsOf(readFileSync(join(room, path), 'utf8')).map((each) => ({ ...each, path: join(room, path) })))

/** Words that hide the component, with the number of them in 1,000 words that is allowed. */
const RARE: Readonly<Record<string, readonly [words: RegExp, most: number]>> = {
  what: [/\bwhat\b/gi, 5],
  who: [/\b(?:who|whom|whose|whoever)\b/gi, 1.5],
  tell: [/\b(?:told|tells?)\b/gi, 0.3],
  nobody: [/\b(?:nobody|somebody|anybody)\b/gi, 0],
}

describe('Comments', () => {
  it('are found in blocks and lines, without code and directives', () => {
    const source = [
      '/** Of nothing. */',
      'const a = 1 // What is not on a line of its own',
      '/**',
      ' * Returns `Who` is',
      ' * told.',
      ' */',
      'const b = `/* no comment`',
      '  // So it is,',
      '  // and goes on.',
      '  // biome-ignore lint: who',
      'const c = 2',
      '// As long as it lasts',
    ].join('\n')
    const found = commentsOf(source)
    expect(found).toEqual([
      { line: 1, text: 'Of nothing.' },
      { line: 3, text: 'Returns ` is told.' },
      { line: 8, text: 'So it is, and goes on. biome-ignore lint: who' },
      { line: 12, text: 'As long as it lasts' },
    ])
    expect(found.map(({ text }) => isPlain(text))).toEqual([false, false, false, true])
  })

  it.each(ROOMS)('are plain in %s', (room) => {
    const found = commentsIn(room).filter(({ text }) => !isPlain(text))
    expect(found.map(({ path, line, text }) => `${path}:${line}: ${text}`)).toEqual([])
  })

  it.each(Object.entries(RARE))('have few of the words like "%s"', (_, [words, most]) => {
    const all = ROOMS.flatMap((room) => commentsIn(room).map(({ text }) => text)).join(' ')
    expect((1_000 * (all.match(words)?.length ?? 0)) / all.split(' ').length).toBeLessThanOrEqual(most)
  })
})
