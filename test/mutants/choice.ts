/** The choice of mutants for a run: spread over files and lines, the same for the same commit. */
import { createHash } from 'node:crypto'
import type { Mutant } from './mutants.ts'

/** One of `of` parts. `part` counts from 1. */
export type Part = { readonly part: number; readonly of: number }

/** Sorts mutants so that the first ones, however many, are spread over the files and over the lines of each file. */
export function spread(mutants: readonly Mutant[], seed: string): readonly Mutant[] {
  const rank = ({ file, start, end, operator, text }: Mutant) => hashOf(`${seed} ${file} ${start} ${end} ${operator} ${text}`)
  const ranked = mutants.map((mutant) => ({ mutant, rank: rank(mutant) })).sort((a, b) => a.rank - b.rank)
  return byTurns(
    ranked.map(({ mutant }) => mutant),
    ({ file }) => file,
    (ofFile) =>
      byTurns(
        ofFile,
        ({ line }) => line,
        (ofLine) => ofLine,
      ),
  )
}

/** Returns the first mutant of each group, then the second of each, and so on. */
function byTurns(
  mutants: readonly Mutant[],
  keyOf: (mutant: Mutant) => unknown,
  ordered: (group: readonly Mutant[]) => readonly Mutant[],
): readonly Mutant[] {
  const groups = [...Map.groupBy(mutants, keyOf).values()].map(ordered)
  const most = groups.reduce((longest, { length }) => Math.max(longest, length), 0)
  return Array.from({ length: most }, (_, i) => groups.flatMap((group) => group[i] ?? [])).flat()
}

/** Whether a name belongs to the part. Each name belongs to exactly one. */
export const isIn = (name: string, { part, of }: Part): boolean => hashOf(name) % of === part - 1

const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE()
