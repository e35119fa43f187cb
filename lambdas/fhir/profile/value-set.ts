/**
 * Membership of a code in a value set: in, out, or unknown if the loaded definitions do not decide. https://hl7.org/fhir/R4/valueset.html
 * A system that is included whole accepts every code, except the codes that a rule excludes (`isCode`).
 */
import { CHARACTERS_PER_ITEM, spendWork, type WorkBudget } from '../path/work-budget.ts'
import { clipText } from './clipped-text.ts'

export type ValueSet = {
  readonly url: string
  readonly version?: string
  readonly isRetired?: true
  readonly include: readonly Inclusion[]
  readonly exclude?: readonly Inclusion[]
  /** Codes of the expansion. They decide only if `include` and `exclude` leave the membership unknown. */
  readonly expanded?: readonly Inclusion[]
}

/**
 * Part of a value set. `codes`: listed codes. `filters`: select codes by the concepts of the system. Without both, it includes the whole
 * system.
 */
export type Inclusion = {
  readonly system?: string
  /** Version of the code system. `*` means all versions. */
  readonly version?: string
  readonly codes?: readonly string[]
  readonly filters?: readonly ConceptFilter[]
  /** The code must be in all of these value sets. */
  readonly valueSets?: readonly string[]
}

export type ConceptFilter = { readonly property: string; readonly op: string; readonly value: string }

/** Complete code system: each code with its ancestors. `isAnyCase`: letter case does not matter, and codes are stored in lower case. */
export type CodeSystem = {
  readonly url: string
  readonly version?: string
  readonly isRetired?: true
  readonly isAnyCase?: true
  readonly codes: Readonly<Record<string, readonly string[]>>
}

export type Membership = 'in' | 'out' | 'unknown'

export type Terminology = {
  readonly valueSet: (canonical: string) => ValueSet | undefined
  readonly codeSystem: (canonical: string) => CodeSystem | undefined
  /** Whether a code belongs to a system that a rule decides, such as UCUM or languages. undefined: no rule decides. */
  readonly isCode?: (system: string, code: string) => boolean | undefined
  /** Whether a loaded value set or code system is ignored because it is retired. */
  readonly isRetired?: (canonical: string) => boolean
}

/** `system`: undefined for an element of type code, because the value set implies it. `reasons`: collects why membership is unknown. */
export type MembershipQuery = {
  readonly system: string | undefined
  readonly code: string
  readonly terminology: Terminology
  readonly work: WorkBudget
  readonly reasons?: Set<string>
}

export const valueSetMembershipOf = (canonical: string, question: MembershipQuery): Membership =>
  memberOf(canonical, { ...question, path: [] })

type ValueSetQuery = MembershipQuery & {
  /** Value sets that include this one. They reveal a cycle. */
  readonly path: readonly string[]
}

function memberOf(canonical: string, query: ValueSetQuery): Membership {
  spendWork(query.work, 1 + query.path.length)
  if (query.path.includes(canonical)) return unknown(`the value set ${clipText(canonical)} is a part of itself`, query)
  const set = query.terminology.valueSet(canonical)
  if (set === undefined)
    return unknown(
      `the value set ${clipText(canonical)} ${missing(canonical, query, 'is not loaded, or does not say which codes it has')}`,
      query,
    )
  const within = { ...query, path: [...query.path, canonical] }
  const composed = composedIn(set, within)
  if (composed !== 'unknown' || set.expanded === undefined) return composed
  return anyOf(set.expanded.map((inclusion) => includes(inclusion, within)))
}

function composedIn({ include, exclude = [] }: ValueSet, query: ValueSetQuery): Membership {
  const included = anyOf(include.map((inclusion) => includes(inclusion, query)))
  if (included === 'out') return 'out'
  const excluded = anyOf(exclude.map((inclusion) => includes(inclusion, query)))
  if (excluded === 'out') return included
  return excluded === 'in' ? 'out' : 'unknown'
}

function unknown(reason: string, { reasons }: ValueSetQuery): Membership {
  if (reasons !== undefined && reasons.size < MAX_REASONS) reasons.add(reason)
  return 'unknown'
}

const MAX_REASONS = 3

const missing = (canonical: string, { terminology }: ValueSetQuery, otherwise: string): string =>
  terminology.isRetired?.(canonical) ? 'is retired' : otherwise

function includes(inclusion: Inclusion, query: ValueSetQuery): Membership {
  spendWork(query.work, 1)
  const { system, valueSets = [] } = inclusion
  const parts = valueSets.map((canonical) => memberOf(canonical, query))
  if (system !== undefined) parts.push(inSystem(system, inclusion, query))
  return allOf(parts)
}

function inSystem(system: string, { version, codes, filters }: Inclusion, query: ValueSetQuery): Membership {
  const { system: codeSystemUrl, code, terminology } = query
  const canonical = version === undefined || version === ANY_VERSION ? system : `${system}|${version}`
  if (codeSystemUrl !== undefined && codeSystemUrl !== system) return 'out'
  if (codes !== undefined) return listedIn(codes, code) || isListedOtherwise(codes, canonical, query) ? 'in' : 'out'
  if (terminology.isCode?.(system, code) === false) return 'out'
  if (filters === undefined) return 'in'
  const codeSystem = terminology.codeSystem(canonical)
  return allOf(filters.map((filter) => passes(filter, canonical, codeSystem, query)))
}

/** Version that means all versions of a code system. https://hl7.org/fhir/R4/valueset-definitions.html#ValueSet.compose.include.version */
const ANY_VERSION = '*'

/** Whether the list has the code in another letter case, and the code system ignores case. */
const isListedOtherwise = (codes: readonly string[], system: string, { code, terminology }: ValueSetQuery): boolean =>
  listedIn(inSmallLetters(codes), code.toLowerCase()) && terminology.codeSystem(system)?.isAnyCase === true

const SMALL = new WeakMap<readonly string[], readonly string[]>()

function inSmallLetters(codes: readonly string[]): readonly string[] {
  const small = SMALL.get(codes) ?? codes.map((code) => code.toLowerCase())
  SMALL.set(codes, small)
  return small
}

/** Minimum codes of a list for which a set is created, once per list. Shorter lists are searched. */
const MANY = 16
const SETS = new WeakMap<readonly string[], ReadonlySet<string>>()

function listedIn(codes: readonly string[], code: string): boolean {
  if (codes.length < MANY) return codes.includes(code)
  const set = SETS.get(codes) ?? new Set(codes)
  SETS.set(codes, set)
  return set.has(code)
}

/**
 * Returns whether the code passes a filter. Supports =, in, not-in, is-a, is-not-a and descendent-of on the code; other filters give
 * `unknown`. https://hl7.org/fhir/R4/valueset-filter-operator.html
 */
function passes(
  { property, op, value }: ConceptFilter,
  system: string,
  codeSystem: CodeSystem | undefined,
  query: ValueSetQuery,
): Membership {
  const { work } = query
  spendWork(work, 1 + value.length / CHARACTERS_PER_ITEM)
  if (property === UNKNOWN_FILTER.property) return unknown('the value set is loaded only in part', query)
  const spelled = (text: string): string => (codeSystem?.isAnyCase ? text.toLowerCase() : text)
  const code = spelled(query.code)
  const isCodeProperty = property === 'concept' || property === 'code'
  const isNamed = value.split(',').some((each) => spelled(each.trim()) === code)
  if (isCodeProperty && op === '=') return isNamed ? 'in' : 'out'
  if (isCodeProperty && (op === 'in' || op === 'not-in')) return isNamed === (op === 'in') ? 'in' : 'out'
  if (!isCodeProperty || !HIERARCHICAL.has(op))
    return unknown(`the filter ${clipText(`${property} ${op}`)} of ${clipText(system)} is not supported`, query)
  if (codeSystem === undefined) return unknown(`the code system ${clipText(system)} ${missing(system, query, 'is not loaded')}`, query)
  if (!Object.hasOwn(codeSystem.codes, code)) return 'out'
  spendWork(work, codeSystem.codes[code]!.length / CHARACTERS_PER_ITEM)
  const above = spelled(value)
  const isBelow = codeSystem.codes[code]!.includes(above)
  const passed = op === 'descendent-of' ? isBelow : (isBelow || code === above) === (op === 'is-a')
  return passed ? 'in' : 'out'
}

/** Filter whose result is unknown for every code. It stands for the codes that a partial expansion lacks. */
export const UNKNOWN_FILTER: ConceptFilter = { property: 'untold', op: '=', value: '' }

const HIERARCHICAL: ReadonlySet<string> = new Set(['is-a', 'descendent-of', 'is-not-a'])

const anyOf = (parts: readonly Membership[]): Membership => (parts.includes('in') ? 'in' : parts.includes('unknown') ? 'unknown' : 'out')

const allOf = (parts: readonly Membership[]): Membership =>
  parts.includes('out') || parts.length === 0 ? 'out' : parts.includes('unknown') ? 'unknown' : 'in'
