/** Guards of data, secrets and access: markers in the sources, and rows of guards.txt with the mutant and the tests of each. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applySplice, isTypeScript, type Mutant, mutantsOf } from './mutants.ts'
import { OPERATORS } from './operators.ts'
import { lineOf, type Node, parse, type Syntax, walk } from './syntax.ts'

export const SOURCES = ['bin', 'lambdas', 'lib'] as const
export const ROWS = 'test/mutants/guards.txt'

/** `nth`: which mutant of that operator in the marked statement, from 1. `tests`: path patterns of Jest. */
export type Guard = { readonly name: string; readonly operator: string; readonly nth: number; readonly tests: readonly string[] }
/** `start` and `end`: of the statement below the marker. */
export type Marker = { readonly name: string; readonly file: string; readonly start: number; readonly end: number }

const MARKER = /^ guard: ([a-z0-9]+(?:-[a-z0-9]+)*)$/
const MEANT_AS_MARKER = /^\s*guard:/i
const OPERATOR = /^([a-z ]+?)(?: ([2-9]))?$/
/** Only literals, so that no rename in a source file changes a row. */
const RETURN = /^return (?:undefined|null|true|false|\d+|''|\[\]|\{\})$/

/** Throws if a line is neither empty, nor a comment, nor `name | operator | tests`. */
export function guardsIn(text: string): readonly Guard[] {
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    const [name = '', operation = '', tests = '', ...rest] = line.split('|').map((part) => part.trim())
    const [, operator = '', nth = '1'] = RETURN.test(operation) ? [operation, operation] : (OPERATOR.exec(operation) ?? [])
    const isKnown = operator in OPERATORS || RETURN.test(operator)
    if (!MARKER.test(` guard: ${name}`) || !isKnown || tests === '' || rest.length > 0) {
      throw new Error(`${ROWS}:${i + 1}: "name | operator | tests" expected, with an operator from the head of the file`)
    }
    return { name, operator, nth: Number(nth), tests: tests.split(/ +/) }
  })
}

export const readGuards = (): readonly Guard[] => guardsIn(readFileSync(ROWS, 'utf8'))

/** Throws if a marker is misspelt, or if no statement, member or element starts below it. */
export function markersIn(file: string, source: string, syntax: Syntax = parse(file, source)): readonly Marker[] {
  return syntax.comments.flatMap(({ value, start, end }) => {
    if (!MEANT_AS_MARKER.test(value)) return []
    const name = MARKER.exec(value)?.[1]
    if (name === undefined) throw new Error(`${file}:${lineOf(source, start)}: "// guard: name-in-kebab-case" expected`)
    const marked = nodeAfter(end, source, syntax)
    if (marked === undefined) throw new Error(`${file}:${lineOf(source, start)}: no statement starts below the marker`)
    return { name, file, start: marked.start, end: marked.end }
  })
}

/** Returns the outermost node that starts at the first token after the comment. */
function nodeAfter(end: number, source: string, { root, comments }: Syntax): Node | undefined {
  const next = comments.find((comment) => comment.start >= end)
  const at = end + source.slice(end).search(/\S/)
  if (next?.start === at) return nodeAfter(next.end, source, { root, comments })
  const found: Node[] = []
  walk(root, (node) => {
    if (node.start === at && node.type !== 'Program') found.push(node)
  })
  return found[0]
}

export const sourceFiles = (): readonly string[] =>
  SOURCES.flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path))).filter((path) =>
    path.endsWith('.ts'),
  )

export function readMarkers(): readonly Marker[] {
  return sourceFiles().flatMap((file) => {
    const source = readFileSync(file, 'utf8')
    return /guard:/i.test(source) ? markersIn(file, source) : []
  })
}

/** Throws if the operator does not apply to the marked statement. */
export function mutantOf({ name, operator, nth }: Guard, marker: Marker, source: string): Mutant {
  const { file, start, end } = marker
  const found: readonly Mutant[] = RETURN.test(operator)
    ? [{ file, line: lineOf(source, start), operator, start, end, text: operator }]
    : mutantsOf(file, source, { start, end, operator })
  const mutant = found[nth - 1]
  if (mutant === undefined) throw new Error(`${name}: ${operator} ${nth} does not apply to ${file}:${lineOf(source, start)}`)
  const changed = applySplice(mutant, source)
  if (changed === source || !isTypeScript(changed))
    throw new Error(`${name}: ${operator} makes no other TypeScript of ${file}:${mutant.line}`)
  return mutant
}

/** Returns every kept guard with its mutant. Throws if a guard has no marker, or several. */
export function keptMutants(): readonly (Guard & { readonly mutant: Mutant })[] {
  const markers = Map.groupBy(readMarkers(), ({ name }) => name)
  return readGuards().map((guard) => {
    const [marker, other] = markers.get(guard.name) ?? []
    if (marker === undefined) throw new Error(`${guard.name}: no source has the marker`)
    if (other !== undefined) throw new Error(`${guard.name}: marker in ${marker.file} and ${other.file}`)
    return { ...guard, mutant: mutantOf(guard, marker, readFileSync(marker.file, 'utf8')) }
  })
}

/** Returns the patterns that no test file matches. */
export function patternsWithoutTest(patterns: readonly string[]): readonly string[] {
  const tests = existsSync('test') ? readdirSync('test', { recursive: true, encoding: 'utf8' }).map((path) => join('test', path)) : []
  return patterns.filter((pattern) => !tests.some((path) => path.endsWith('.test.ts') && path.includes(pattern)))
}
