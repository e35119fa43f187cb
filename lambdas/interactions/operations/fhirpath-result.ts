/** Items that a FHIRPath expression found, as `result` parameters of $apply-fhirpath. Specification 4.4 */
import { R4 } from '../../fhir/definitions/r4.ts'
import { selectElement } from '../../fhir/path/selected-elements.ts'
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import { primitiveCheckOf } from '../../fhir/validate/primitive.ts'
import type { FoundValue } from '../../ports/execution/expression-runner.ts'

/**
 * One found item. `value`: as in the resource, with the original text of decimals. `path`: its FHIRPath; absent for a computed value.
 * `companion`: id and extensions of a primitive.
 */
export type ResultItem = { readonly type: string; readonly value: unknown; readonly path?: string; readonly companion?: Element }

/** Returns the item. Its type is that of R4. For an element that R4 does not define, it is the type that the evaluator reported. */
export const itemOf = (found: FoundValue, resource: Resource): ResultItem =>
  'at' in found ? { type: found.type, ...selectElement(resource, found.at) } : { type: found.type, value: found.value }

/** Names of Parameters.parameter.value[x] by type, such as `valueHumanName` for HumanName. */
const FORMS: ReadonlyMap<string, string> = new Map(
  Object.entries(R4.shapes['Parameters.parameter']!.elements).flatMap(([form, { choice, type }]) =>
    choice === 'value' ? [[type, form]] : [],
  ),
)

/**
 * Returns the `result` parameter of an item. `json`: JSON of the value, shown if value[x] has no form for the type or the value is invalid.
 */
export function resultOf(item: ResultItem, json: string): Element {
  const { type, path } = item
  const part = [
    { name: 'type', valueString: type },
    ...(path === undefined ? [] : [{ name: 'path', valueString: path }]),
    shown(item) ?? { name: 'json', valueString: json },
  ]
  return { name: 'result', part }
}

/** Returns the part with the resource or value. Returns undefined if value[x] has no form for the type, or if the value is invalid. */
function shown({ type, value, companion }: ResultItem): Element | undefined {
  if (isResource(value) && isResourceType(value.resourceType)) return { name: 'resource', resource: value }
  const form = FORMS.get(type)
  if (form === undefined) return undefined
  const check = primitiveCheckOf(type)
  if (check === undefined) return isElement(value) ? { name: 'value', [form]: value } : undefined
  const isValid = value !== undefined && check(value) === undefined
  if (!isValid && (value !== undefined || companion === undefined)) return undefined
  return { name: 'value', ...(isValid ? { [form]: value } : {}), ...(companion === undefined ? {} : { [`_${form}`]: companion }) }
}
