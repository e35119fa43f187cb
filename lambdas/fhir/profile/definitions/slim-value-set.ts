/** Reduces a ValueSet or CodeSystem for checks. https://hl7.org/fhir/R4/valueset.html, https://hl7.org/fhir/R4/codesystem.html */
import { type Element, isElement, type Resource } from '../../resource.ts'
import { type CodeSystem, type Inclusion, UNKNOWN_FILTER, type ValueSet } from '../value-set.ts'
import { UnusableDefinition } from './reduced-profile.ts'

/** Returns the reduced value set. Returns undefined if it defines no codes: the membership of every code is then unknown. */
export function reduceValueSet({ url, version, status, compose, expansion }: Resource): ValueSet | undefined {
  if (typeof url !== 'string') return undefined
  const composed = isElement(compose) ? inclusionsOf(compose.include) : []
  const expanded = expandedOf(expansion)
  const include = composed.length > 0 ? composed : expanded
  if (include.length === 0) return undefined
  const exclude = isElement(compose) && composed.length > 0 ? inclusionsOf(compose.exclude) : []
  const isDecided = include === expanded || [...include, ...exclude].every(({ filters, valueSets }) => (filters ?? valueSets) === undefined)
  return {
    url,
    ...(typeof version === 'string' ? { version } : {}),
    ...(status === 'retired' ? { isRetired: true as const } : {}),
    include,
    ...(exclude.length === 0 ? {} : { exclude }),
    ...(isDecided || expanded.length === 0 ? {} : { expanded }),
  }
}

const inclusionsOf = (list: unknown): readonly Inclusion[] =>
  elementsIn(list).map(({ system, version, concept, filter, valueSet }) => ({
    ...(typeof system === 'string' ? { system } : {}),
    ...(typeof version === 'string' ? { version } : {}),
    ...(elementsIn(concept).length > 0 ? { codes: elementsIn(concept).map(({ code }) => String(code)) } : {}),
    ...(elementsIn(filter).length > 0 ? { filters: elementsIn(filter).map(slimFilter) } : {}),
    ...(Array.isArray(valueSet) ? { valueSets: valueSet.filter((url) => typeof url === 'string') } : {}),
  }))

const slimFilter = ({ property, op, value }: Element) => ({ property: String(property), op: String(op), value: String(value) })

/** Returns the codes of an expansion by system. If the expansion is partial, the membership of other codes of these systems is unknown. */
function expandedOf(expansion: unknown): readonly Inclusion[] {
  const codesBySystem = new Map<string, string[]>()
  let count = 0
  const add = (contains: unknown): void => {
    for (const { system, code, abstract, contains: below } of elementsIn(contains)) {
      count++
      if (typeof system === 'string' && typeof code === 'string' && abstract !== true) {
        const codes = codesBySystem.get(system)
        if (codes === undefined) codesBySystem.set(system, [code])
        else codes.push(code)
      }
      add(below)
    }
  }
  if (!isElement(expansion)) return []
  add(expansion.contains)
  const listed = [...codesBySystem].map(([system, codes]) => ({ system, codes }))
  const isPart = (typeof expansion.total === 'number' && expansion.total > count) || elementsIn(expansion.extension).some(saysPart)
  return isPart ? [...listed, ...listed.map(({ system }) => ({ system, filters: [UNKNOWN_FILTER] }))] : listed
}

/**
 * Extensions that mark a partial expansion.
 * https://hl7.org/fhir/R4/extension-valueset-unclosed.html, https://hl7.org/fhir/R4/extension-valueset-toocostly.html
 */
const PART: ReadonlySet<unknown> = new Set(
  ['unclosed', 'toocostly'].map((name) => `http://hl7.org/fhir/StructureDefinition/valueset-${name}`),
)
const saysPart = ({ url, valueBoolean }: Element): boolean => PART.has(url) && valueBoolean !== false

/**
 * Returns the reduced code system. Returns undefined if it does not hold all its concepts, and UnusableDefinition if their ancestors exceed
 * a limit.
 */
export function reduceCodeSystem(system: Resource): CodeSystem | UnusableDefinition | undefined {
  const { url, version, status, content, concept, property } = system
  if (typeof url !== 'string' || content !== 'complete') return undefined
  const above = aboveEach(parentsIn(concept, hierarchyIn(property)))
  if (above instanceof UnusableDefinition) return above
  const isAnyCase = system.caseSensitive !== true && new Set([...above.keys()].map(inSmall)).size === above.size
  const spelled = (code: string): string => (isAnyCase ? inSmall(code) : code)
  return {
    url,
    ...(typeof version === 'string' ? { version } : {}),
    ...(status === 'retired' ? { isRetired: true as const } : {}),
    ...(isAnyCase ? { isAnyCase: true as const } : {}),
    codes: Object.fromEntries([...above].map(([code, codes]) => [spelled(code), codes.map(spelled)])),
  }
}

/**
 * Returns a code in lower case. Codes are accepted in any case unless the system declares that case matters, or has codes that differ only
 * in case. https://hl7.org/fhir/R4/codesystem-definitions.html#CodeSystem.caseSensitive
 */
const inSmall = (code: string): string => code.toLowerCase()

/** Code → its direct parents, given by nesting or by properties. */
type Parents = ReadonlyMap<string, readonly string[]>

/** Names of the properties that hold the parents and the children of a concept. https://hl7.org/fhir/R4/codesystem.html#defined-props */
type Hierarchy = { readonly up: ReadonlySet<string>; readonly down: ReadonlySet<string> }

function hierarchyIn(properties: unknown): Hierarchy {
  const namedConcepts = (name: string): ReadonlySet<string> =>
    new Set([
      name,
      ...elementsIn(properties).flatMap(({ uri, code }) =>
        uri === `http://hl7.org/fhir/concept-properties#${name}` ? [String(code)] : [],
      ),
    ])
  return { up: namedConcepts('parent'), down: namedConcepts('child') }
}

function parentsIn(concepts: unknown, { up, down }: Hierarchy): Parents {
  const parents = new Map<string, string[]>()
  const below: (readonly [code: string, above: string])[] = []
  const add = (list: unknown, above: string | undefined): void => {
    for (const { code, concept, property } of elementsIn(list)) {
      const own = parents.get(String(code)) ?? []
      parents.set(String(code), own)
      if (above !== undefined) own.push(above)
      for (const { code: name, valueCode } of elementsIn(property)) {
        if (up.has(String(name))) own.push(String(valueCode))
        else if (down.has(String(name))) below.push([String(valueCode), String(code)])
      }
      add(concept, String(code))
    }
  }
  add(concepts, undefined)
  for (const [code, above] of below) parents.get(code)?.push(above)
  return parents
}

/**
 * Maximum ancestors of all codes in total, by number and by characters. `named`: parents read to find them, as a measure of time. A system
 * above a limit is unusable.
 */
const MAX_ABOVE = { codes: 1_000_000, characters: 20_000_000, named: 4_000_000 }

const tooManyAbove = (limit: keyof typeof MAX_ABOVE): UnusableDefinition =>
  new UnusableDefinition(
    {
      codes: `Its codes have more than ${MAX_ABOVE.codes} codes above them, in sum`,
      characters: `The codes above its codes have more than ${MAX_ABOVE.characters} characters, in sum`,
      named: `Above its codes others are named more than ${MAX_ABOVE.named} times, in sum`,
    }[limit],
  )

/**
 * Returns the ancestors of each code. A code is never its own ancestor, even if a cycle leads back to it. Returns UnusableDefinition if the
 * ancestors of all codes exceed a limit of `MAX_ABOVE`.
 */
function aboveEach(parents: Parents): ReadonlyMap<string, readonly string[]> | UnusableDefinition {
  const all = new Map<string, readonly string[]>()
  let [codes, characters, named] = [0, 0, 0]
  for (const [code, own] of parents) {
    if (own.length === 0) {
      all.set(code, own)
      continue
    }
    const above = new Set(own)
    // Ancestors of ancestors are visited too: the set grows during the iteration.
    for (const each of above) {
      const next = parents.get(each) ?? []
      for (const further of next) above.add(further)
      named += next.length
      characters += each.length
      if (codes + above.size > MAX_ABOVE.codes) return tooManyAbove('codes')
      if (characters > MAX_ABOVE.characters) return tooManyAbove('characters')
      if (named > MAX_ABOVE.named) return tooManyAbove('named')
    }
    above.delete(code)
    codes += above.size
    all.set(code, [...above].reverse())
  }
  return all
}

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
