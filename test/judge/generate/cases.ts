/** The cases: of each category some, spread over its kinds and the types of resources. */
import type { Breaker, Candidate } from './candidate.ts'
import type { Tree } from './definitions.ts'
import { invariant } from './invariants.ts'
import { placesIn } from './places.ts'
import { seeds } from './seeds.ts'
import { emptyOrNull, jsonType, requiredMissing, tooMany, twoChoices, unknownProperty } from './structure.ts'
import { companion, format, referenceTarget, requiredBinding, wholeResource } from './values.ts'

export type Case = Candidate & { readonly category: string; readonly seed: string }

const CATEGORIES: Readonly<Record<string, readonly [breaker: Breaker, count: number]>> = {
  'unknown property': [unknownProperty, 50],
  'wrong JSON type': [jsonType, 50],
  'required missing': [requiredMissing, 50],
  'too many': [tooMany, 40],
  'primitive format': [format, 70],
  'empty or null': [emptyOrNull, 50],
  'resourceType or contained': [wholeResource, 50],
  'two choice types': [twoChoices, 40],
  _field: [companion, 50],
  'required binding': [requiredBinding, 50],
  'reference target': [referenceTarget, 50],
  invariants: [invariant, 130],
}

export function casesOf(all: ReadonlyMap<string, Tree> = seeds()): readonly Case[] {
  const found = new Map([...all].map(([name, resource]) => [name, placesIn(resource)]))
  return Object.entries(CATEGORIES).flatMap(([category, [breaker, count]]) => {
    const candidates = [...all].flatMap(([seed, resource]) =>
      breaker(resource, found.get(seed)!).map((each) => ({ category, seed, ...each })),
    )
    return spread(candidates, count)
  })
}

/** One of each kind in turn, each time of the seed and the element that were taken least. */
export function spread<Each extends Case>(candidates: readonly Each[], count: number): readonly Each[] {
  const kinds = [...Map.groupBy(candidates, ({ kind }) => kind).values()].map((list) => [...list])
  const counts = new Map<string, number>()
  const weight = ({ seed, element }: Each): number => (counts.get(seed) ?? 0) + 3 * (counts.get(element) ?? 0)
  const chosen: Each[] = []
  for (let at = 0; chosen.length < count && kinds.some(({ length }) => length > 0); at++) {
    const kind = kinds[at % kinds.length]!
    if (kind.length === 0) continue
    const least = kind.reduce((best, each) => (weight(each) < weight(best) ? each : best))
    kind.splice(kind.indexOf(least), 1)
    for (const name of [least.seed, least.element]) counts.set(name, (counts.get(name) ?? 0) + 1)
    chosen.push(least)
  }
  return chosen
}
