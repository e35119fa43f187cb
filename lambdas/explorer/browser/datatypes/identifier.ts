/** Identifier and ContactPoint. https://hl7.org/fhir/R4/datatypes.html#Identifier */
import { isTree, type Tree, textOf } from '../json.ts'
import { codeableConceptText } from './codeable-concept.ts'

export const isIdentifier = (tree: Tree): boolean => typeof tree.value === 'string'

export function identifierText({ value, type }: Tree): string {
  const kind = isTree(type) ? codeableConceptText(type) : ''
  return kind === '' ? (textOf(value) ?? '') : `${textOf(value) ?? ''} (${kind})`
}
