/** The mutants of a source file: every operator at every node. */
import { stripTypeScriptTypes } from 'node:module'
import { OPERATORS, type Splice } from './operators.ts'
import { lineOf, parse, walk } from './syntax.ts'

export type Mutant = Splice & { readonly file: string; readonly line: number; readonly operator: string }

/** `within`: only mutants whose splice starts in that range. */
export function mutantsOf(
  file: string,
  source: string,
  within = { start: 0, end: source.length },
  syntax = parse(file, source),
): readonly Mutant[] {
  const mutants: Mutant[] = []
  walk(syntax.root, (node, parents) => {
    if (node.end <= within.start || node.start >= within.end) return
    for (const [operator, propose] of Object.entries(OPERATORS))
      for (const splice of propose(node, source, parents))
        if (splice.start >= within.start && splice.start < within.end)
          mutants.push({ ...splice, file, operator, line: lineOf(source, splice.start) })
  })
  const seen = new Set<string>()
  return mutants.filter((mutant) => {
    const changed = mutated(mutant, source)
    const isNew = changed !== source && !seen.has(changed) && isTypeScript(changed)
    seen.add(changed)
    return isNew
  })
}

export const mutated = ({ start, end, text }: Splice, source: string): string => source.slice(0, start) + text + source.slice(end)

export function isTypeScript(source: string): boolean {
  try {
    stripTypeScriptTypes(source)
    return true
  } catch {
    return false
  }
}
