/** Address. https://hl7.org/fhir/R4/datatypes.html#Address */
import { listOf, type Tree, textOf } from '../json.ts'

export const isAddress = (tree: Tree): boolean => 'line' in tree || 'postalCode' in tree || ('city' in tree && !('resourceType' in tree))

export function addressText(address: Tree): string {
  const place = [address.postalCode, address.city].flatMap((part) => textOf(part) ?? []).join(' ')
  const parts = [...listOf(address.line), place, address.state, address.country]
  return textOf(address.text) ?? parts.flatMap((part) => textOf(part) || []).join(', ')
}
