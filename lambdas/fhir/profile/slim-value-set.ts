/** ValueSet and CodeSystem to what checks read of them. https://hl7.org/fhir/R4/valueset.html, https://hl7.org/fhir/R4/codesystem.html */
import { type Element, isElement, type Resource } from '../resource.ts'
import { type CodeSystem, type Inclusion, UNTOLD, type ValueSet } from './value-set.ts'

/** Undefined where it defines no codes: what is in it is unknown. */
export function slimValueSet({ url, version, status, compose, expansion }: Resource): ValueSet | undefined {
  if (typeof url !== 'string') return undefined
  const composed = isElement(compose) ? inclusionsOf(compose.include) : []
  const include = composed.length > 0 ? composed : expandedOf(expansion)
  if (include.length === 0) return undefined
  const exclude = isElement(compose) && composed.length > 0 ? inclusionsOf(compose.exclude) : []
  return {
    url,
    ...(typeof version === 'string' ? { version } : {}),
    ...(status === 'retired' ? { isRetired: true as const } : {}),
    include,
    ...(exclude.length === 0 ? {} : { exclude }),
  }
}

const inclusionsOf = (list: unknown): readonly Inclusion[] =>
  elementsIn(list).map(({ system, concept, filter, valueSet }) => ({
    ...(typeof system === 'string' ? { system } : {}),
    ...(elementsIn(concept).length > 0 ? { codes: elementsIn(concept).map(({ code }) => String(code)) } : {}),
    ...(elementsIn(filter).length > 0 ? { filters: elementsIn(filter).map(slimFilter) } : {}),
    ...(Array.isArray(valueSet) ? { valueSets: valueSet.filter((url) => typeof url === 'string') } : {}),
  }))

const slimFilter = ({ property, op, value }: Element) => ({ property: String(property), op: String(op), value: String(value) })

/** A value set that is only given as what it expands to. Where that is a part, whether other codes are in it is unknown. */
function expandedOf(expansion: unknown): readonly Inclusion[] {
  const bySystem = new Map<string, string[]>()
  let count = 0
  const add = (contains: unknown): void => {
    for (const { system, code, abstract, contains: below } of elementsIn(contains)) {
      count++
      if (typeof system === 'string' && typeof code === 'string' && abstract !== true) {
        const codes = bySystem.get(system)
        if (codes === undefined) bySystem.set(system, [code])
        else codes.push(code)
      }
      add(below)
    }
  }
  if (!isElement(expansion)) return []
  add(expansion.contains)
  const listed = [...bySystem].map(([system, codes]) => ({ system, codes }))
  const isPart = typeof expansion.total === 'number' && expansion.total > count
  return isPart ? [...listed, ...listed.map(({ system }) => ({ system, filters: [UNTOLD] }))] : listed
}

/** Undefined where it does not hold all of its concepts. */
export function slimCodeSystem({ url, version, status, content, concept }: Resource): CodeSystem | undefined {
  if (typeof url !== 'string' || content !== 'complete') return undefined
  const found = new Map<string, Set<string>>()
  const add = (concepts: unknown, above: readonly string[]): void => {
    for (const { code, concept: below } of elementsIn(concepts)) {
      const known = found.get(String(code)) ?? new Set()
      found.set(String(code), known)
      for (const each of above) known.add(each)
      add(below, [...above, String(code)])
    }
  }
  add(concept, [])
  const codes = Object.fromEntries([...found].map(([code, above]) => [code, [...above]]))
  return { url, ...(typeof version === 'string' ? { version } : {}), ...(status === 'retired' ? { isRetired: true as const } : {}), codes }
}

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
