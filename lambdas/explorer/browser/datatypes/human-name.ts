/** HumanName. https://hl7.org/fhir/R4/datatypes.html#HumanName */
import { listOf, type Tree, textOf } from '../json.ts'

export const isHumanName = (tree: Tree): boolean => 'family' in tree || 'given' in tree

export function humanNameText(name: Tree): string {
  const parts = [...listOf(name.prefix), ...listOf(name.given), name.family, ...listOf(name.suffix)]
  const text = textOf(name.text) ?? parts.flatMap((part) => textOf(part) ?? []).join(' ')
  return name.use === 'old' || name.use === 'maiden' || name.use === 'nickname' ? `${text} (${name.use})` : text
}
