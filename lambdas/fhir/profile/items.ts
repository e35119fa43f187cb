/** Items of an element within an object: its single value, or each value of its list. */
import { R4 } from '../definitions/r4.ts'
import { type Element, isElement } from '../resource.ts'

export type Item = {
  /** Value of the item. undefined for a primitive that has only extensions. */
  readonly value: unknown
  /** Id and extensions of a primitive, from the property `_name`. */
  readonly companion: unknown
  /** FHIR type of a choice. undefined for other elements. */
  readonly type: string | undefined
  /** Index in a list. undefined for a single value. */
  readonly index: number | undefined
}

/** Returns the items in order. `isChoice`: whether `name` is the name of a choice, such as `value` for `valueString`. */
export function itemsOf(item: Item, name: string, isChoice: boolean): readonly Item[] {
  const { value, companion } = item
  if (!isElement(value)) {
    // A primitive also has an id and extensions, which its companion holds.
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

/** Returns the property that holds a choice, such as `valueQuantity` for `value`, or undefined if there is none. */
function formOf(object: Element, choice: string): string | undefined {
  for (const key in object) {
    const name = key.startsWith('_') ? key.slice(1) : key
    if (name.startsWith(choice) && name.length > choice.length && choiceTypeOf(name.slice(choice.length)) !== undefined) return name
  }
  return undefined
}

/** Returns the FHIR type for the suffix of a choice, such as `Quantity` or `String`. Returns undefined if no choice has this suffix. */
export const choiceTypeOf = (capital: string): string | undefined => TYPES.get(capital)

/** Suffix of a choice → FHIR type. The value of an extension allows every type that a choice can have. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(R4.shapes.Extension!.elements).flatMap(([key, { choice, type }]) =>
    choice === undefined ? [] : [[key.slice(choice.length), type] as const],
  ),
)
