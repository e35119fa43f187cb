/** Reads elements that may be absent, and replaces references. */
import { parseDateRange } from '../fhir/date-range.ts'
import { type Element, isElement } from '../fhir/resource.ts'

/** Code of a code system. */
export type Code = { readonly system: string; readonly code: string }

/** Identifier of a partner, of this payer, or on a card. Without a system it equals every identifier with the value. */
export type PartyIdentifier = { readonly system?: string; readonly value: string }

export const itemsOf = (value: unknown): readonly Element[] => (Array.isArray(value) ? value.filter(isElement) : [])

export const textsOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [])

/** Returns the text, or undefined if it is absent or blank. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value.trim() !== '' ? value : undefined)

/** Returns the system and value of an Identifier, or nothing if it has no value. */
export function identifierOf({ system, value }: Element): readonly PartyIdentifier[] {
  const text = textOf(value)
  const of = textOf(system)
  return text === undefined ? [] : [{ value: text, ...(of === undefined ? {} : { system: of }) }]
}

/** Whether a CodeableConcept has a coding with this code. */
export const hasCode = (concept: unknown, { system, code }: Code): boolean =>
  isElement(concept) && itemsOf(concept.coding).some((coding) => coding.system === system && coding.code === code)

/** Whether one of these CodeableConcepts has a coding with this code. */
export const haveCode = (concepts: unknown, code: Code): boolean => itemsOf(concepts).some((concept) => hasCode(concept, code))

/** Returns the codes of a system that a CodeableConcept has. */
export const codesOf = (concept: unknown, system: string): readonly string[] =>
  isElement(concept) ? itemsOf(concept.coding).flatMap((each) => (each.system === system ? (textOf(each.code) ?? []) : [])) : []

/** Returns the local reference in a Reference, as `Patient/1`. */
export const referenceOf = (value: unknown): string | undefined => (isElement(value) ? textOf(value.reference) : undefined)

/** Whether a Period covers an instant. An absent Period covers every instant, one with an unreadable date none. */
export function covers(period: unknown, now: number, timeZone?: string): boolean {
  if (!isElement(period)) return period === undefined
  const { start, end } = period
  if (start !== undefined && !((rangeOf(start, timeZone)?.low ?? Number.POSITIVE_INFINITY) <= now)) return false
  return end === undefined || (rangeOf(end, timeZone)?.high ?? Number.NEGATIVE_INFINITY) > now
}

/** Returns the instant after the end of a Period, or undefined if it has no end. */
export const endOf = (period: unknown, timeZone?: string): number | undefined =>
  isElement(period) ? rangeOf(period.end, timeZone)?.high : undefined

/** Returns the start of a Period, or undefined if it has none. */
export const startOf = (period: unknown, timeZone?: string): number | undefined =>
  isElement(period) ? rangeOf(period.start, timeZone)?.low : undefined

const rangeOf = (value: unknown, timeZone?: string) => (typeof value === 'string' ? parseDateRange(value, timeZone) : undefined)

/**
 * Returns the tree with each Reference replaced. A Reference is an element with a text `reference`. Unchanged parts stay the same objects: most parts
 * have no Reference, and copying them would take time.
 */
export function mapReferences<Tree>(tree: Tree, replace: (reference: Element & { readonly reference: string }) => Element): Tree {
  if (Array.isArray(tree)) {
    const items = tree.map((item) => mapReferences(item, replace))
    return items.every((item, i) => item === tree[i]) ? tree : (items as Tree)
  }
  if (!isElement(tree)) return tree
  let mapped: Element = tree
  for (const [name, value] of Object.entries(tree)) {
    const next = mapReferences(value, replace)
    if (next !== value) mapped = { ...mapped, [name]: next }
  }
  return (typeof mapped.reference === 'string' ? replace(mapped as Element & { readonly reference: string }) : mapped) as Tree
}
