/** The cases as they are committed, with what HAPI's validator said of each. `node test/judge/write.ts` makes them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import type { Case } from './generate/cases.ts'
import type { Tree } from './generate/definitions.ts'
import { applyPatches } from './generate/patch.ts'
import type { Verdict } from './hapi.ts'

export const SIDES = ['break', 'neighbour'] as const
export type Side = (typeof SIDES)[number]

export type JudgedCase = Case & { readonly verdicts: Readonly<Record<Side, Verdict>> }

export type JudgedCases = { readonly seeds: ReadonlyMap<string, Tree>; readonly cases: readonly JudgedCase[] }

export const fileOf = (name: string): string => join(import.meta.dirname, 'cases', `${name}.ndjson`)

const linesOf = (name: string) =>
  readFileSync(fileOf(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** With the profile each is judged by. */
export const readProfiled = (name: string): readonly (JudgedCase & { readonly profile: string })[] => linesOf(name)

export const read = (name: string): JudgedCases => ({
  seeds: new Map(linesOf(`${name}-seeds`).map(({ seed, resource }) => [seed, resource])),
  cases: linesOf(name),
})

export const resourceOf = (seeds: ReadonlyMap<string, Tree>, each: Case, side: Side): Resource =>
  applyPatches(seeds.get(each.seed)!, each[side]) as Resource

export const title = ({ category, kind, seed, element }: Case): string => `${category}: ${kind}, ${element} of ${seed}`
