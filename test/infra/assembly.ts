/** The stacks as CloudFormation gets them, synthesized once per test file in a process of its own: in this one the CDK takes long to load. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Settings } from '../../lib/settings.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects to be there
export type Tree = any

export type Synthesized = {
  readonly data: Tree
  readonly service: Tree
  /** Whether who deletes what lasts has to say so twice. */
  readonly isProtected: boolean
  /** Of cdk-nag, beyond those that are accepted: the rule and the path of the construct. */
  readonly findings: readonly string[]
}

export function synthesized<Name extends string>(wanted: Readonly<Record<Name, Partial<Settings>>>): Readonly<Record<Name, Synthesized>> {
  const script = join(import.meta.dirname, 'synthesize.ts')
  const printed = execFileSync(process.execPath, [script, JSON.stringify(wanted)], {
    maxBuffer: 100_000_000,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return JSON.parse(printed.toString())
}

/** Logical id → properties. RangeError where there is none: what is expected of each of nothing would hold. */
export function ofType(template: Tree, type: string): Readonly<Record<string, Tree>> {
  const found = anyOfType(template, type)
  if (Object.keys(found).length === 0) throw new RangeError(`the template has no ${type}`)
  return found
}

const anyOfType = (template: Tree, type: string): Readonly<Record<string, Tree>> =>
  Object.fromEntries(
    Object.entries<Tree>(template.Resources)
      .filter(([, { Type }]) => Type === type)
      .map(([id, { Properties }]) => [id, Properties]),
  )

/** Name → properties. */
export const functionsOf = (template: Tree): Readonly<Record<string, Tree>> =>
  Object.fromEntries(
    Object.values(anyOfType(template, 'AWS::Lambda::Function')).map((properties) => [
      properties.Handler.replace(/\.handler$/, ''),
      properties,
    ]),
  )
