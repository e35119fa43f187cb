/** Identifiers that a write adds to a resource. The store adds a row for each before it commits the write. */
import { parseJsonBytes } from '../../fhir/json.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Identifier, Write } from '../../ports/store/resource-store.ts'
import type { Ports } from '../interaction.ts'
import type { Head } from './head-access.ts'

type IdentifiersOf = NonNullable<Ports['identifiersOf']>

/** Maximum identifiers that one commit adds. Each costs a write unit. A request above it is answered 422. */
export const MAX_NEW_IDENTIFIERS = 20_000

/** Throws the error of a request whose writes add too many identifiers. `location`: element of its body. */
export function checkNewIdentifiers(writes: readonly Pick<Write, 'identifiers'>[], location: string): void {
  const count = writes.reduce((sum, { identifiers = [] }) => sum + identifiers.length, 0)
  if (count > MAX_NEW_IDENTIFIERS)
    throw fhirError(422, 'too-costly', `The request adds ${count} identifiers, but at most ${MAX_NEW_IDENTIFIERS} are allowed`, location)
}

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
