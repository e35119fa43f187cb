/** CodeableConcept and Coding. https://hl7.org/fhir/R4/datatypes.html#CodeableConcept */
import { type Tree, textOf, treesOf } from '../json.ts'

/** A tree with only a text may have another type, such as Annotation. Its text is then all there is to show, too. */
export const isCodeableConcept = (tree: Tree): boolean =>
  'coding' in tree || (Object.keys(tree).length === 1 && typeof tree.text === 'string')

export const isCoding = (tree: Tree): boolean => 'code' in tree && 'system' in tree && !('value' in tree)

export const codingText = (coding: Tree): string => textOf(coding.display) ?? textOf(coding.code) ?? ''

export function codeableConceptText(concept: Tree): string {
  const codings = treesOf(concept.coding)
  return textOf(concept.text) ?? codings.map(codingText).find((text) => text !== '') ?? ''
}

/** Returns each coding as `code (system)`, for the tooltip. */
export const codesOf = (concept: Tree): string =>
  (isCodeableConcept(concept) ? treesOf(concept.coding) : [concept])
    .map(({ code, system }) => `${textOf(code) ?? ''} (${textOf(system) ?? 'no system'})`)
    .join(', ')
