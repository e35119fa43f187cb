/** The rows of table.txt: a small change to a file, and the tests that must notice it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

export type Mutant = {
  /** Of table.txt. */
  readonly line: number
  readonly file: string
  readonly text: string
  readonly instead: string
  /** Path patterns of jest. */
  readonly tests: readonly string[]
}

const TABLE = 'test/mutants/table.txt'

/** `#`: a remark. A row: `file | tests`, then `- text`, then `+ what stands in its place`. Throws where it is none of these. */
export function mutantsIn(table: string): readonly Mutant[] {
  const mutants: Mutant[] = []
  const lines = table.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const head = lines[at]!
    if (head.trim() === '' || head.startsWith('#')) continue
    const [file = '', tests = ''] = head.split(' | ')
    const [text = '', instead = ''] = lines.slice(at + 1, at + 3)
    if (tests.trim() === '' || !text.startsWith('- ') || !/^\+(?: |$)/.test(instead))
      throw new Error(`${TABLE}:${at + 1}: "file | tests", "- text", "+ instead" expected`)
    mutants.push({ line: at + 1, file, text: text.slice(2), instead: instead.slice(2), tests: tests.trim().split(/ +/) })
    at += 2
  }
  return mutants
}

export const readMutants = (root = '.'): readonly Mutant[] => mutantsIn(readFileSync(join(root, TABLE), 'utf8'))

export const nameOf = ({ line, file, text, instead }: Mutant): string => `${TABLE}:${line} ${file}: ${text} → ${instead}`

/** The file with the change. Throws where the text is not there once, or what is made of it is no TypeScript. */
export function mutated({ file, text, instead }: Mutant, root = '.'): string {
  const source = readFileSync(join(root, file), 'utf8')
  const parts = source.split(text)
  if (parts.length !== 2) throw new Error(`the text is in it ${parts.length - 1} times, not once`)
  const changed = parts.join(instead)
  stripTypeScriptTypes(changed)
  return changed
}

/** What is wrong with a row before anything is run. */
export function faultOf(mutant: Mutant, root = '.'): string | undefined {
  if (!existsSync(join(root, mutant.file))) return 'there is no such file'
  const lost = mutant.tests.filter((pattern) => !testsIn(root).some((path) => path.includes(pattern)))
  if (lost.length > 0) return `no test is called ${lost.join(', ')}`
  try {
    mutated(mutant, root)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const known = new Map<string, readonly string[]>()

function testsIn(root: string): readonly string[] {
  const found = known.get(root) ?? readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  known.set(root, found)
  return found.filter((path) => path.endsWith('.test.ts')).map((path) => join('test', path))
}
