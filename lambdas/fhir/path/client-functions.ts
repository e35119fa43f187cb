/** Functions for expressions whose author is shown what they find, beyond those of fhirpath.js. */
import { isElement } from '../resource.ts'
import { isResourceType } from '../resource-types.ts'
import { validate } from '../validate/validate.ts'

/** `originals`: by what fhirpath.js walks on. */
type Originals = ReadonlyMap<unknown, unknown>

type Own = {
  readonly fn: (items: readonly unknown[], ...parameters: readonly unknown[]) => readonly unknown[]
  readonly arity: Readonly<Record<number, readonly string[]>>
  readonly internalStructures: true
}

/** `originals`: of the evaluation that is under way. */
export const shownFunctions = (originals: () => Originals): Readonly<Record<string, Own>> => ({
  conformsTo: {
    fn: (items, canonical) => items.map((item) => conforms(originals().get((item as { readonly data?: unknown }).data), String(canonical))),
    arity: { 1: ['String'] },
    internalStructures: true,
  },
  precision: { fn: (items) => items.map(precisionOf), arity: { 0: [] }, internalStructures: true },
})

const BASE = /^http:\/\/hl7\.org\/fhir\/StructureDefinition\/([A-Za-z]+)(?:\|4\.0\.1)?$/

/** To what R4 itself defines. https://hl7.org/fhir/R4/fhirpath.html#functions */
function conforms(resource: unknown, canonical: string): boolean {
  const [, type = ''] = BASE.exec(canonical) ?? []
  if (!isResourceType(type)) throw new Error(`conformsTo() knows the profiles of R4 itself, not ${canonical.slice(0, 100)}`)
  return isElement(resource) && resource.resourceType === type && validate(resource).length === 0
}

/** Digits of a date or a time. Those of a number are not known any more. http://hl7.org/fhirpath/#precision-integer */
function precisionOf(item: unknown): number {
  const { asStr, data } = item as { readonly asStr?: unknown; readonly data?: unknown }
  const text = typeof asStr === 'string' ? asStr : data
  if (typeof text !== 'string' || !/^T?\d\d(?:\d\d|:)/.test(text)) throw new Error('precision() is known of dates and times only')
  return text.replace(/(?:Z|[+-]\d\d:\d\d)$/, '').replace(/\D/g, '').length
}
