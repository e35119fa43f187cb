/** Reads the keys and the groups of a document from its forward entry. */
import { keyFieldsOf } from '../forward-entry.ts'
import { explicitGroupKeys, keysIn } from '../forward-keys.ts'
import { ID_FIELD } from '../schema.ts'
import type { KindNumbers } from './compile-plan.ts'

/** `entry`: JSON of the forward entry. */
export type DocumentKeys = { readonly id: string; readonly entry: string }

/** Returns the keys of a field. `numbers`: field numbers of the document's kind. */
export const keysOf = ({ id, entry }: DocumentKeys, name: string, numbers: KindNumbers): readonly string[] =>
  name === ID_FIELD ? [id] : keysIn(entry, numbers.combinations(name))

/** Returns the keys of the document's groups by a field. `numbers`: field numbers of the document's kind. */
export function groupKeysOf(document: DocumentKeys, name: string, numbers: KindNumbers): readonly string[] {
  const own = explicitGroupKeys(document.entry, numbers.field(name))
  if (own !== undefined) return own
  for (const source of keyFieldsOf(name)) {
    const keys = keysOf(document, source, numbers)
    if (keys.length > 0) return keys
  }
  return []
}
