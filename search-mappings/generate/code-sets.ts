/** Expands the value sets of required bindings. https://hl7.org/fhir/R4/valueset.html#expansion */
import type { CodeSet } from '../../lambdas/fhir/path/definitions.ts'
import { type Concept, readCodeSystem, readValueSet, type ValueSetInclude } from './hl7.ts'

export type CodeSets = {
  readonly sets: CodeSet[]
  /** Returns the index of the value set in `sets`, or `mime` for the set of all MIME types. Undefined if the set cannot be expanded. */
  readonly index: (url: string) => number | 'mime' | undefined
}

export function generateCodeSets(): CodeSets {
  const sets: CodeSet[] = []
  const cache = new Map<string, number | 'mime' | undefined>([['http://hl7.org/fhir/ValueSet/mimetypes', 'mime']])
  const index = (versioned: string): number | 'mime' | undefined => {
    const url = unversioned(versioned)
    if (!cache.has(url)) {
      const expanded = expand(url)
      cache.set(url, expanded === undefined ? undefined : sets.push({ url, codes: groupBySystem(expanded) }) - 1)
    }
    return cache.get(url)
  }
  return { sets, index }
}

const unversioned = (url: string): string => url.split('|')[0]!

/** Returns `system|code` of every code, or undefined if the definitions do not list the codes, such as those of UCUM and LOINC. */
function expand(url: string, path: readonly string[] = []): ReadonlySet<string> | undefined {
  const compose = path.includes(url) ? undefined : readValueSet(url)?.compose
  if (compose === undefined) return undefined
  const included = compose.include.map((inclusion) => codesOf(inclusion, [...path, url]))
  const excluded = (compose.exclude ?? []).map((inclusion) => codesOf(inclusion, [...path, url]))
  if (![...included, ...excluded].every((set) => set !== undefined)) return undefined
  const codes = new Set(included.flatMap((set) => [...set!]))
  for (const set of excluded) for (const code of set!) codes.delete(code)
  return codes
}

function codesOf(
  { system, valueSet: urls, concept, filter = [] }: ValueSetInclude,
  path: readonly string[],
): ReadonlySet<string> | undefined {
  if (system === undefined) return inAll((urls ?? []).map((url) => expand(unversioned(url), path)))
  if (concept !== undefined) return new Set(concept.map(({ code }) => `${system}|${code}`))
  const codeSystem = readCodeSystem(system)
  if (codeSystem?.concept === undefined || codeSystem.content === 'not-present') return undefined
  let codes = allCodes(codeSystem.concept)
  for (const { property, op, value } of filter) {
    if (property !== 'concept' || (op !== 'is-a' && op !== 'descendent-of')) return undefined
    codes = codesBelow(codeSystem.concept, value).filter((code) => op === 'is-a' || code !== value)
  }
  return new Set(codes.map((code) => `${system}|${code}`))
}

function inAll(sets: readonly (ReadonlySet<string> | undefined)[]): ReadonlySet<string> | undefined {
  if (!sets.every((set) => set !== undefined)) return undefined
  return sets.reduce<ReadonlySet<string> | undefined>((all, set) => (all === undefined ? set : all.intersection(set!)), undefined)
}

const allCodes = (concepts: readonly Concept[]): readonly string[] =>
  concepts.flatMap(({ code, concept = [] }) => [code, ...allCodes(concept)])

const codesBelow = (concepts: readonly Concept[], root: string): readonly string[] =>
  concepts.flatMap((one) => (one.code === root ? allCodes([one]) : codesBelow(one.concept ?? [], root)))

function groupBySystem(codes: ReadonlySet<string>): Record<string, string[]> {
  const systems: Record<string, string[]> = {}
  for (const code of codes) {
    const at = code.lastIndexOf('|')
    const system = code.slice(0, at)
    systems[system] ??= []
    systems[system].push(code.slice(at + 1))
  }
  return systems
}
