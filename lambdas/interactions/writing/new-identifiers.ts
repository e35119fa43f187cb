/** Identifiers that a write adds to a resource. The store adds a row for each before it commits the write. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Identifier } from '../../ports/store/resource-store.ts'
import type { Ports } from '../interaction.ts'
import type { Head } from './head-access.ts'

type IdentifiersOf = NonNullable<Ports['identifiersOf']>

/** Returns the identifiers of the resource that the current version does not have. A row that exists is not written again. */
export function newIdentifiersOf(resource: Resource, head: Head | undefined, identifiersOf: IdentifiersOf): readonly Identifier[] {
  const all = identifiersOf(resource.resourceType, resource)
  if (all.length === 0 || head === undefined) return all
  const before = new Set(storedIdentifiersOf(head, identifiersOf).map(nameOf))
  return all.filter((each) => !before.has(nameOf(each)))
}

/** Returns the identifiers of the current version. A damaged version counts as one without identifiers. */
export function storedIdentifiersOf(head: Head, identifiersOf: IdentifiersOf): readonly Identifier[] {
  if ('damage' in head || head.deleted) return []
  return head.identifiers ?? identifiersOf(head.type, parseJsonBytes(head.body) as Resource)
}

const nameOf = ({ system, value }: Identifier): string => JSON.stringify([system, value])
