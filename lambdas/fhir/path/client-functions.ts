/** Functions that fhirpath.js lacks. Only evaluations for the client that sent the resource (`isShown`) have them. */
import { isResource, type Resource } from '../resource.ts'

/** Maps each copy that fhirpath.js evaluates to the element of the resource that it was copied from. */
type Originals = ReadonlyMap<unknown, unknown>

type Own = {
  readonly fn: (items: readonly unknown[], ...parameters: readonly unknown[]) => readonly unknown[]
  readonly arity: Readonly<Record<number, readonly string[]>>
  readonly internalStructures: true
}

/** Returns whether a resource conforms to a profile; undefined if that is not known yet. */
export type ConformanceTest = (resource: Resource, canonical: string) => boolean | undefined

/** State of the current evaluation. `conforms`: undefined if conformsTo() is not available. */
export type EvaluationState = { readonly originals: Originals; readonly conforms?: ConformanceTest }

export const clientFunctions = (current: () => EvaluationState): Readonly<Record<string, Own>> => ({
  conformsTo: {
    fn: (items, canonical) => items.flatMap((item) => conformsTo(current(), item, String(canonical))),
    arity: { 1: ['String'] },
    internalStructures: true,
  },
  precision: { fn: (items) => items.map(precisionOf), arity: { 0: [] }, internalStructures: true },
})

/**
 * Returns whether the item conforms to a profile, or an empty list if that is not known yet.
 * https://hl7.org/fhir/R4/fhirpath.html#functions
 */
function conformsTo({ originals, conforms }: EvaluationState, item: unknown, canonical: string): readonly boolean[] {
  const resource = originals.get((item as { readonly data?: unknown }).data)
  if (conforms === undefined) throw new Error('conformsTo() is not available in this place')
  if (!isResource(resource)) throw new Error('conformsTo() is available for resources only')
  const found = conforms(resource, canonical)
  return found === undefined ? [] : [found]
}

/**
 * Returns the number of digits of a date or time, without its offset. Throws for other items: numbers have lost their original digits by
 * now. http://hl7.org/fhirpath/#precision-integer
 */
function precisionOf(item: unknown): number {
  const { asStr, data } = item as { readonly asStr?: unknown; readonly data?: unknown }
  const text = typeof asStr === 'string' ? asStr : data
  if (typeof text !== 'string' || !/^T?\d\d(?:\d\d|:)/.test(text)) throw new Error('precision() is known of dates and times only')
  return text.replace(/(?:Z|[+-]\d\d:\d\d)$/, '').replace(/\D/g, '').length
}
