/**
 * Whether a code is in a value set: in, out, or unknown where what is loaded does not say. https://hl7.org/fhir/R4/valueset.html
 * A system that is included whole holds any code: whether it is one of the system's is not for a value set to say.
 */
import { type Element, isElement, type Resource } from '../resource.ts'

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
export type CodeSystem = { readonly url: string; readonly version?: string; readonly codes: Readonly<Record<string, readonly string[]>> }

export type Membership = 'in' | 'out' | 'unknown'

export type Terminology = {
  readonly valueSet: (canonical: string) => ValueSet | undefined
  readonly codeSystem: (canonical: string) => CodeSystem | undefined
}

/** `system`: undefined for an element of type code, whose system the value set implies. */
export function membership(canonical: string, system: string | undefined, code: string, terminology: Terminology): Membership {
  return memberOf(canonical, { system, code, terminology, path: [] })
}

type Asked = {
  readonly system: string | undefined
  readonly code: string
  readonly terminology: Terminology
  /** The value sets that led here. */
  readonly path: readonly string[]
}

function memberOf(canonical: string, asked: Asked): Membership {
  const set = asked.path.includes(canonical) ? undefined : asked.terminology.valueSet(canonical)
  if (set === undefined) return 'unknown'
  const within = { ...asked, path: [...asked.path, canonical] }
  const included = anyOf(set.include.map((inclusion) => includes(inclusion, within)))
  if (included === 'out') return 'out'
  const excluded = anyOf((set.exclude ?? []).map((inclusion) => includes(inclusion, within)))
  if (excluded === 'out') return included
  return excluded === 'in' ? 'out' : 'unknown'
}

function includes({ system, codes, filters, valueSets = [] }: Inclusion, asked: Asked): Membership {
  const parts = valueSets.map((canonical) => memberOf(canonical, asked))
  if (system !== undefined) parts.push(inSystem(system, codes, filters, asked))
  return allOf(parts)
}

function inSystem(
  system: string,
  codes: readonly string[] | undefined,
  filters: readonly Filter[] | undefined,
  { system: given, code, terminology }: Asked,
): Membership {
  if (given !== undefined && given !== system) return 'out'
  if (codes !== undefined) return codes.includes(code) ? 'in' : 'out'
  if (filters === undefined) return 'in'
  const known = terminology.codeSystem(system)
  return known === undefined ? 'unknown' : allOf(filters.map((filter) => passes(code, filter, known)))
}

function passes(code: string, { property, op, value }: Filter, { codes }: CodeSystem): Membership {
  if (property !== 'concept' || (op !== 'is-a' && op !== 'descendent-of' && op !== 'is-not-a')) return 'unknown'
  const above = codes[code]
  if (above === undefined) return 'out'
  const isBelow = above.includes(value)
  const passed = op === 'descendent-of' ? isBelow : (isBelow || code === value) === (op === 'is-a')
  return passed ? 'in' : 'out'
}

const anyOf = (parts: readonly Membership[]): Membership => (parts.includes('in') ? 'in' : parts.includes('unknown') ? 'unknown' : 'out')

const allOf = (parts: readonly Membership[]): Membership =>
  parts.includes('out') || parts.length === 0 ? 'out' : parts.includes('unknown') ? 'unknown' : 'in'

/** Undefined where it defines no codes: what is in it is unknown. */
export function slimValueSet({ url, version, status, compose, expansion }: Resource): ValueSet | undefined {
  if (typeof url !== 'string') return undefined
  const said = isElement(compose) ? inclusionsOf(compose.include) : expandedOf(expansion)
  if (said.length === 0) return undefined
  const exclude = isElement(compose) ? inclusionsOf(compose.exclude) : []
  return {
    url,
    ...(typeof version === 'string' ? { version } : {}),
    ...(status === 'retired' ? { isRetired: true as const } : {}),
    include: said,
    ...(exclude.length === 0 ? {} : { exclude }),
  }
}

const inclusionsOf = (list: unknown): readonly Inclusion[] =>
  elementsIn(list).map(({ system, concept, filter, valueSet }) => ({
    ...(typeof system === 'string' ? { system } : {}),
    ...(Array.isArray(concept) ? { codes: elementsIn(concept).map(({ code }) => String(code)) } : {}),
    ...(Array.isArray(filter)
      ? {
          filters: elementsIn(filter).map(({ property, op, value }) => ({
            property: String(property),
            op: String(op),
            value: String(value),
          })),
        }
      : {}),
    ...(Array.isArray(valueSet) ? { valueSets: valueSet.filter((url) => typeof url === 'string') } : {}),
  }))

/** A value set that is only given as what it expands to. */
function expandedOf(expansion: unknown): readonly Inclusion[] {
  const bySystem = new Map<string, string[]>()
  const add = (contains: unknown): void => {
    for (const { system, code, abstract, contains: below } of elementsIn(contains)) {
      if (typeof system === 'string' && typeof code === 'string' && abstract !== true)
        bySystem.set(system, [...(bySystem.get(system) ?? []), code])
      add(below)
    }
  }
  if (isElement(expansion)) add(expansion.contains)
  return [...bySystem].map(([system, codes]) => ({ system, codes }))
}

/** Undefined where it does not hold all of its concepts. */
export function slimCodeSystem({ url, version, content, concept }: Resource): CodeSystem | undefined {
  if (typeof url !== 'string' || content !== 'complete') return undefined
  const codes: Record<string, readonly string[]> = {}
  const add = (concepts: unknown, above: readonly string[]): void => {
    for (const { code, concept: below } of elementsIn(concepts)) {
      codes[String(code)] = above
      add(below, [...above, String(code)])
    }
  }
  add(concept, [])
  return { url, ...(typeof version === 'string' ? { version } : {}), codes }
}

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
