/** The syntax tree of a source file, without its types. */
import { parseSync } from 'oxc-parser'

/** A node with its UTF-16 offsets. */
export type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [key: string]: unknown }
/** `parents`: from the root down to the direct parent. */
export type Visit = (node: Node, parents: readonly Node[]) => void
export type Comment = { readonly value: string; readonly start: number; readonly end: number }
export type Syntax = { readonly root: Node; readonly comments: readonly Comment[] }

/** Type nodes are erased before the code runs; these hold an expression. */
const WITH_EXPRESSION = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'])
const SKIPPED = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'TemplateElement'])

/** Throws if the text is not TypeScript. */
export function parse(file: string, source: string): Syntax {
  const { program, comments, errors } = parseSync(file, source)
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`)
  return { root: program as unknown as Node, comments }
}

/** Visits every node that runs, parents first, in the order of the source. */
export function walk(node: Node, visit: Visit, parents: readonly Node[] = []): void {
  if (SKIPPED.has(node.type) || (node.type.startsWith('TS') && !WITH_EXPRESSION.has(node.type))) return
  visit(node, parents)
  const below = [...parents, node]
  for (const child of childrenOf(node)) walk(child, visit, below)
}

const childrenOf = (node: Node): readonly Node[] => Object.values(node).flat().filter(isNode)

export const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string'
export const nodesIn = (value: unknown): readonly Node[] => [value].flat().filter(isNode)

/** Returns the line of an offset, counted from 1. */
export function lineOf(source: string, offset: number): number {
  let line = 1
  for (let at = source.indexOf('\n'); at >= 0 && at < offset; at = source.indexOf('\n', at + 1)) line++
  return line
}
