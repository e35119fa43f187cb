/** Quantity, Money, Range and Ratio. Numbers keep the decimals of the resource. https://hl7.org/fhir/R4/datatypes.html#Quantity */
import { isTree, type Json, type Tree, textOf } from '../json.ts'

export const isQuantity = (tree: Tree): boolean =>
  'value' in tree && ('unit' in tree || 'code' in tree || 'currency' in tree || isNumber(tree.value))

const isNumber = (value: Json | undefined): boolean =>
  typeof value !== 'string' && typeof value !== 'boolean' && textOf(value) !== undefined

export function quantityText(quantity: Tree): string {
  const unit = textOf(quantity.unit) ?? textOf(quantity.currency) ?? textOf(quantity.code)
  const value = `${textOf(quantity.comparator) ?? ''}${textOf(quantity.value) ?? ''}`
  return unit === undefined ? value : `${value} ${unit}`
}

export const isRange = (tree: Tree): boolean => isTree(tree.low) || isTree(tree.high)

export function rangeText({ low, high }: Tree): string {
  if (isTree(low) && isTree(high)) return `${quantityText(low)} – ${quantityText(high)}`
  return isTree(low) ? `≥ ${quantityText(low)}` : isTree(high) ? `≤ ${quantityText(high)}` : ''
}

export const isRatio = (tree: Tree): boolean => isTree(tree.numerator)

export const ratioText = ({ numerator, denominator }: Tree): string =>
  `${isTree(numerator) ? quantityText(numerator) : ''} / ${isTree(denominator) ? quantityText(denominator) : ''}`
