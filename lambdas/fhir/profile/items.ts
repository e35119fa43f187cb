/** The items an element has within an object. */
import { R4 } from '../definitions/r4.ts'
import { type Element, isElement } from '../resource.ts'

export type Item = {
  /** undefined: a primitive that has only extensions. */
  readonly value: unknown
  /** Id and extensions of a primitive. */
  readonly companion: unknown
  /** Of a choice: its FHIR type. */
  readonly type: string | undefined
  /** Its place in a list. */
  readonly index: number | undefined
}

/** In order. `isChoice`: the name is that of a choice, without its type. */
export function itemsOf(item: Item, name: string, isChoice: boolean): readonly Item[] {
  const { value, companion } = item
  if (!isElement(value)) {
    // What a primitive has besides its value.
    return (name === 'extension' || name === 'id') && isElement(companion) ? listed(companion[name], undefined, undefined) : []
  }
  if (!isChoice) return listed(value[name], value[`_${name}`], undefined)
  const key = formOf(value, name)
  return key === undefined ? [] : listed(value[key], value[`_${key}`], choiceTypeOf(key.slice(name.length)))
}

export const itemOf = (value: unknown): Item => ({ value, companion: undefined, type: undefined, index: undefined })

function listed(value: unknown, companion: unknown, type: string | undefined): readonly Item[] {
  if (Array.isArray(value) || Array.isArray(companion)) {
    const [values, companions] = [Array.isArray(value) ? value : [], Array.isArray(companion) ? companion : []]
    return Array.from({ length: Math.max(values.length, companions.length) }, (_, index) => ({
      value: values[index] ?? undefined,
      companion: companions[index] ?? undefined,
      type,
      index,
    }))
  }
  return value === undefined && companion === undefined ? [] : [{ value, companion, type, index: undefined }]
}

/** `valueQuantity` of `value`. */
function formOf(object: Element, choice: string): string | undefined {
  for (const key in object) {
    const name = key.startsWith('_') ? key.slice(1) : key
    if (name.startsWith(choice) && name.length > choice.length && choiceTypeOf(name.slice(choice.length)) !== undefined) return name
  }
  return undefined
}

/** `Quantity`, `String` → the FHIR type. */
export const choiceTypeOf = (capital: string): string | undefined => TYPES.get(capital)

/** The value of an extension may be of any type that a choice can have. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(R4.shapes.Extension!.elements).flatMap(([key, { choice, type }]) =>
    choice === undefined ? [] : [[key.slice(choice.length), type] as const],
  ),
)
