/** Elements at known positions of a resource, with their FHIRPath and type, as far as R4 defines them. */
import { R4 } from '../definitions/r4.ts'
import { type Element, isElement, isResource, type Resource } from '../resource.ts'
import { isResourceType } from '../resource-types.ts'
import { quoteName } from '../validate/findings.ts'
import type { ElementShape } from './definitions.ts'

/**
 * Element of a resource. `type`: undefined if R4 has no such element. `companion`: id and extensions of a primitive. `path`: its FHIRPath,
 * with `value` for `valueString`.
 */
export type SelectedElement = { readonly value: unknown; readonly path: string; readonly type?: string; readonly companion?: Element }

/** Returns the element at a position. `at`: keys and indexes, from the resource to the element. */
export function selectElement(resource: Resource, at: readonly (string | number)[]): SelectedElement {
  let [value, companion, path, type]: [unknown, unknown, string, string | undefined] = [
    resource,
    undefined,
    resource.resourceType,
    undefined,
  ]
  for (const step of at) {
    const owner = typeOf(value, type)
    companion = typeof step === 'number' ? memberOf(companion, step) : memberOf(value, `_${step}`)
    value = memberOf(value, step)
    if (typeof step === 'number') path = `${path}[${step}]`
    else {
      const isBeside = step.startsWith('_')
      const key = isBeside ? step.slice(1) : step
      const shape: ElementShape | undefined = owner === undefined ? undefined : R4.shapes[owner]?.elements[key]
      path = `${path}.${quoteName(shape?.choice ?? key)}`
      type = isBeside ? 'Element' : shape?.type
    }
  }
  const own = typeOf(value, type)
  return { value, path, ...(own === undefined ? {} : { type: own }), ...(isElement(companion) ? { companion } : {}) }
}

/** Returns the type of a value. A resource names its own type. */
function typeOf(value: unknown, type: string | undefined): string | undefined {
  if (isResource(value) && isResourceType(value.resourceType)) return value.resourceType
  return type === 'Resource' ? undefined : type
}

const memberOf = (tree: unknown, step: string | number): unknown =>
  typeof tree === 'object' && tree !== null ? (tree as Readonly<Record<string | number, unknown>>)[step] : undefined
