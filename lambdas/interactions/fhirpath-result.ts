/** What a FHIRPath expression found, item by item, as out parameters of $apply-fhirpath. Specification 4.4 */
import { R4 } from '../fhir/definitions/r4.ts'
import type { ElementShape } from '../fhir/path/definitions.ts'
import { type Element, isElement, isResource, type Resource } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import { primitiveCheck } from '../fhir/validate/primitive.ts'
import type { FoundElement, FoundValue } from '../ports/expression-runner.ts'

/** `value`: as in the resource, its decimals kept. `path`: FHIRPath of it, where it is an element. `companion`: id and extensions of a primitive. */
export type Item = { readonly type: string; readonly value: unknown; readonly path?: string; readonly companion?: Element }

export const itemOf = (found: FoundValue, resource: Resource): Item =>
  'at' in found ? elementOf(found, resource) : { type: found.type, value: found.value }

/** Followed through the definitions of R4; what they do not know keeps the type it was found with. */
function elementOf({ at, type: found }: FoundElement & Pick<FoundValue, 'type'>, resource: Resource): Item {
  let [value, path, type]: [unknown, string, string | undefined] = [resource, resource.resourceType, resource.resourceType]
  let companion: unknown
  for (const step of at) {
    companion = typeof step === 'number' ? memberOf(companion, step) : memberOf(value, `_${step}`)
    value = memberOf(value, step)
    if (typeof step === 'number') {
      path = `${path}[${step}]`
      continue
    }
    const isBeside = step.startsWith('_')
    const key = isBeside ? step.slice(1) : step
    const shape: ElementShape | undefined = type === undefined ? undefined : R4.shapes[type]?.elements[key]
    path = `${path}.${shape?.choice ?? key}`
    type = isBeside ? 'Element' : shape?.type
  }
  const own = isResource(value) && isResourceType(value.resourceType) ? value.resourceType : type
  return { type: own === undefined || own === 'Resource' ? found : own, value, path, ...(isElement(companion) ? { companion } : {}) }
}

const memberOf = (tree: unknown, step: string | number): unknown =>
  typeof tree === 'object' && tree !== null ? (tree as Readonly<Record<string | number, unknown>>)[step] : undefined

/** The forms that a value of a parameter may have, by type: `valueHumanName`. */
const FORMS: ReadonlyMap<string, string> = new Map(
  Object.entries(R4.shapes['Parameters.parameter']!.elements).flatMap(([form, { choice, type }]) =>
    choice === 'value' ? [[type, form]] : [],
  ),
)

/** `json`: text of the value. */
export function resultOf(item: Item, json: string): Element {
  const { type, path } = item
  const part = [
    { name: 'type', valueString: type },
    ...(path === undefined ? [] : [{ name: 'path', valueString: path }]),
    shown(item) ?? { name: 'json', valueString: json },
  ]
  return { name: 'result', part }
}

/** undefined: R4 has no form for it. */
function shown({ type, value, companion }: Item): Element | undefined {
  if (isResource(value) && isResourceType(value.resourceType)) return { name: 'resource', resource: value }
  const form = FORMS.get(type)
  if (form === undefined) return undefined
  const check = primitiveCheck(type)
  if (check === undefined) return isElement(value) ? { name: 'value', [form]: value } : undefined
  const isValid = value !== undefined && check(value) === undefined
  if (!isValid && (value !== undefined || companion === undefined)) return undefined
  return { name: 'value', ...(isValid ? { [form]: value } : {}), ...(companion === undefined ? {} : { [`_${form}`]: companion }) }
}
