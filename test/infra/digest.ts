/** A short form of a template: the number of resources of each type, and environment and permissions of each function. No hashes. */
import type { Tree } from './assembly.ts'
import { functionsOf } from './assembly.ts'
import { type Statement, statementsOf } from './iam.ts'

export function digest(template: Tree): object {
  const types: Record<string, number> = {}
  for (const { Type } of Object.values<Tree>(template.Resources)) types[Type] = (types[Type] ?? 0) + 1
  const functions = Object.entries(functionsOf(template)).map(([name, { Environment, MemorySize, Timeout }]) => [
    name,
    {
      memory: MemorySize,
      timeout: Timeout,
      environment: Object.keys(Environment.Variables).sort(),
      may: statementsOf(template, name).map(lineOf).sort(),
    },
  ])
  return { types: sorted(types), functions: sorted(Object.fromEntries(functions)) }
}

function lineOf({ Effect, Action, Resource, Condition }: Statement): string {
  const list = (value: unknown): string => [value].flat().map(shortened).sort().join(' ')
  const when = Condition === undefined ? '' : ` when ${JSON.stringify(Condition).replace(/["{}]/g, '')}`
  return `${Effect === 'Allow' ? '' : `${Effect} `}${list(Action)} on ${list(Resource)}${when}`
}

const shortened = (text: unknown): string =>
  String(text).replace(/^arn:aws:[\w-]+:[^:]*:[^:]*:(?:table\/|domain\/|key\/|stateMachine:)?/, '')

const sorted = <Value>(object: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
