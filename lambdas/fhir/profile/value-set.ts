/**
 * Whether a code is in a value set: in, out, or unknown where what is loaded does not say. https://hl7.org/fhir/R4/valueset.html
 * A system that is included whole holds any code: whether it is one of the system's is not for a value set to say.
 */
import { CHARACTERS, spend, type Work } from '../path/work.ts'
import { clipped } from './shown.ts'

export type ValueSet = {
  readonly url: string
  readonly version?: string
  readonly isRetired?: true
  readonly include: readonly Inclusion[]
  readonly exclude?: readonly Inclusion[]
}

/** `codes`: those listed. `isFiltered`: some codes of the system, which only the system's concepts tell. None of them: the whole system. */
export type Inclusion = {
  readonly system?: string
  readonly codes?: readonly string[]
  readonly filters?: readonly Filter[]
  /** Codes have to be in all of them. */
  readonly valueSets?: readonly string[]
}

export type Filter = { readonly property: string; readonly op: string; readonly value: string }

/** Of a code system that is loaded whole: each code with those above it. */
export type CodeSystem = {
  readonly url: string
  readonly version?: string
  readonly isRetired?: true
  readonly codes: Readonly<Record<string, readonly string[]>>
}

export type Membership = 'in' | 'out' | 'unknown'

export type Terminology = {
  readonly valueSet: (canonical: string) => ValueSet | undefined
  readonly codeSystem: (canonical: string) => CodeSystem | undefined
  /** Whether a code is one of a system that is known without its concepts: UCUM, languages. undefined: it is not known. */
  readonly isCode?: (system: string, code: string) => boolean | undefined
  /** Whether a value set or code system that is there takes no part for it. */
  readonly isRetired?: (canonical: string) => boolean
}

/** `system`: undefined for an element of type code, whose system the value set implies. `reasons`: why it is unknown, where it is. */
export type Question = {
  readonly system: string | undefined
  readonly code: string
  readonly terminology: Terminology
  readonly work: Work
  readonly reasons?: Set<string>
}

export const membership = (canonical: string, question: Question): Membership => memberOf(canonical, { ...question, path: [] })

type Asked = Question & {
  /** The value sets that led here. */
  readonly path: readonly string[]
}

function memberOf(canonical: string, asked: Asked): Membership {
  spend(asked.work, 1 + asked.path.length)
  if (asked.path.includes(canonical)) return unknown(`the value set ${clipped(canonical)} is a part of itself`, asked)
  const set = asked.terminology.valueSet(canonical)
  if (set === undefined)
    return unknown(
      `the value set ${clipped(canonical)} ${missing(canonical, asked, 'is not loaded, or does not say which codes it has')}`,
      asked,
    )
  const within = { ...asked, path: [...asked.path, canonical] }
  const included = anyOf(set.include.map((inclusion) => includes(inclusion, within)))
  if (included === 'out') return 'out'
  const excluded = anyOf((set.exclude ?? []).map((inclusion) => includes(inclusion, within)))
  if (excluded === 'out') return included
  return excluded === 'in' ? 'out' : 'unknown'
}

function unknown(reason: string, { reasons }: Asked): Membership {
  if (reasons !== undefined && reasons.size < MOST_REASONS) reasons.add(reason)
  return 'unknown'
}

const MOST_REASONS = 3

const missing = (canonical: string, { terminology }: Asked, otherwise: string): string =>
  terminology.isRetired?.(canonical) ? 'is retired' : otherwise

function includes({ system, codes, filters, valueSets = [] }: Inclusion, asked: Asked): Membership {
  spend(asked.work, 1)
  const parts = valueSets.map((canonical) => memberOf(canonical, asked))
  if (system !== undefined) parts.push(inSystem(system, codes, filters, asked))
  return allOf(parts)
}

function inSystem(system: string, codes: readonly string[] | undefined, filters: readonly Filter[] | undefined, asked: Asked): Membership {
  const { system: given, code, terminology } = asked
  if (given !== undefined && given !== system) return 'out'
  if (codes !== undefined) return listedIn(codes, code) ? 'in' : 'out'
  if (terminology.isCode?.(system, code) === false) return 'out'
  if (filters === undefined) return 'in'
  const known = terminology.codeSystem(system)
  return allOf(filters.map((filter) => passes(filter, system, known, asked)))
}

/** Lists of many codes are looked through once. */
const MANY = 16
const SETS = new WeakMap<readonly string[], ReadonlySet<string>>()

function listedIn(codes: readonly string[], code: string): boolean {
  if (codes.length < MANY) return codes.includes(code)
  const set = SETS.get(codes) ?? new Set(codes)
  SETS.set(codes, set)
  return set.has(code)
}

/** https://hl7.org/fhir/R4/valueset-filter-operator.html, of those the codes themselves and what is above them. */
function passes({ property, op, value }: Filter, system: string, known: CodeSystem | undefined, asked: Asked): Membership {
  const { code, work } = asked
  spend(work, 1 + value.length / CHARACTERS)
  if (property === UNTOLD.property) return unknown('the value set is loaded only in part', asked)
  const isOfCodes = property === 'concept' || property === 'code'
  const isNamed = value.split(',').some((each) => each.trim() === code)
  if (isOfCodes && op === '=') return isNamed ? 'in' : 'out'
  if (isOfCodes && (op === 'in' || op === 'not-in')) return isNamed === (op === 'in') ? 'in' : 'out'
  if (!isOfCodes || !HIERARCHICAL.has(op))
    return unknown(`the filter ${clipped(`${property} ${op}`)} of ${clipped(system)} is not supported`, asked)
  if (known === undefined) return unknown(`the code system ${clipped(system)} ${missing(system, asked, 'is not loaded')}`, asked)
  if (!Object.hasOwn(known.codes, code)) return 'out'
  spend(work, known.codes[code]!.length / CHARACTERS)
  const isBelow = known.codes[code]!.includes(value)
  const passed = op === 'descendent-of' ? isBelow : (isBelow || code === value) === (op === 'is-a')
  return passed ? 'in' : 'out'
}

/** What is not told passes or does not: of a value set that is given in part. */
export const UNTOLD: Filter = { property: 'untold', op: '=', value: '' }

const HIERARCHICAL: ReadonlySet<string> = new Set(['is-a', 'descendent-of', 'is-not-a'])

const anyOf = (parts: readonly Membership[]): Membership => (parts.includes('in') ? 'in' : parts.includes('unknown') ? 'unknown' : 'out')

const allOf = (parts: readonly Membership[]): Membership =>
  parts.includes('out') || parts.length === 0 ? 'out' : parts.includes('unknown') ? 'unknown' : 'in'
