/** Mutants of a source file: every operator at every node. */
import { stripTypeScriptTypes } from 'node:module'
import { OPERATORS, type Splice } from './operators.ts'
import { lineOf, parse, walk } from './syntax.ts'

export type Mutant = Splice & { readonly file: string; readonly line: number; readonly operator: string }

export type MutantFilter = {
  /** Range in which the splice starts. */
  readonly start: number
  readonly end: number
  /** The only operator. */
  readonly operator?: string
}

export function mutantsOf(file: string, source: string, where: MutantFilter = { start: 0, end: source.length }): readonly Mutant[] {
  const operators = Object.entries(OPERATORS).filter(([name]) => name === (where.operator ?? name))
  const mutants: Mutant[] = []
  walk(parse(file, source).root, (node, parents) => {
    if (node.end <= where.start || node.start >= where.end) return
    for (const [operator, propose] of operators)
      for (const splice of propose(node, source, parents))
        if (splice.start >= where.start && splice.start < where.end)
          mutants.push({ ...splice, file, operator, line: lineOf(source, splice.start) })
  })
  const seen = new Set<string>()
  return mutants.filter((mutant) => {
    const changed = applySplice(mutant, source)
    const isNew = changed !== source && !seen.has(changed) && isTypeScript(changed)
    seen.add(changed)
    return isNew
  })
}

export const applySplice = ({ start, end, text }: Splice, source: string): string => source.slice(0, start) + text + source.slice(end)

export function isTypeScript(source: string): boolean {
  try {
    stripTypeScriptTypes(source)
    return true
  } catch {
    return false
  }
}
