/** Reference, as a link to the page of its target. https://hl7.org/fhir/R4/references.html */
import { isTree, type Tree, textOf } from '../json.ts'
import { BASE } from '../settings.ts'
import { identifierText } from './identifier.ts'

/** Whether the tree is a Reference: it has an address, an identifier with a text, or a text alone. */
export const isReference = (tree: Tree): boolean =>
  typeof tree.reference === 'string' ||
  ('display' in tree && ('identifier' in tree || Object.keys(tree).every((name) => name === 'display' || name === 'type')))

export const referenceText = ({ display, reference, identifier }: Tree): string =>
  textOf(display) ?? textOf(reference) ?? (isTree(identifier) ? identifierText(identifier) : '')

/** Returns the path of the target below the explorer, or undefined if it is no resource of this server. */
export function targetPathOf({ reference }: Tree): string | undefined {
  const text = textOf(reference) ?? ''
  const relative = text.startsWith(`${BASE}/`) ? text.slice(BASE.length + 1) : text
  return /^[A-Z][A-Za-z]+\/[A-Za-z0-9.-]{1,64}(\/_history\/[A-Za-z0-9.-]{1,64})?$/.test(relative) ? `/${relative}` : undefined
}
