/**
 * Identifiers of resources and of searches, as rows of the store hold them. They follow the index keys of the parameter `identifier`, so
 * that rows and index agree. https://hl7.org/fhir/R4/search.html#token
 */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { conjunctsOf, type Predicate } from '../../ports/search/plan.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { IdentifierCriterion, IdentifierEntry } from '../../ports/store/identifier-rows.ts'
import type { Identifier, ResourceVersion } from '../../ports/store/resource-store.ts'
import { findSearchParameter } from '../parameters.ts'
import { FOLDED_KEY_PREFIX, tokensOf } from '../types/tokens.ts'

/** Index fields of the parameter `identifier`: with system and value, and with the value alone. */
const FIELD = 'identifier'
const VALUE_FIELD = `${FIELD}:code`

/**
 * Version of the code that derives identifiers from a resource. Increment it if the same resource gets other identifiers: functions of the
 * previous release then count as writers without rows.
 */
export const IDENTIFIER_DERIVATION = 1

/** Maximum identifiers that one criterion may name. */
export const MAX_IDENTIFIERS = 20

/** Returns the distinct identifiers of a resource that searches find. */
export function identifiersOf(type: string, resource: Resource): readonly Identifier[] {
  const values = findSearchParameter(type, FIELD)?.values(resource) ?? []
  const keys = values.flatMap((value) => tokensOf(value).flatMap((token) => (token.code === undefined ? [] : token.keys)))
  return [...new Set(keys)].map(identifierOf)
}

/** Returns the identifiers of stored versions. Leaves out deletions, and damaged versions without a body. */
export const identifierEntriesOf = (versions: readonly ResourceVersion[]): readonly IdentifierEntry[] =>
  versions.flatMap(({ tenant, type, id, deleted, body }) => {
    const identifiers = deleted || body.length === 0 ? [] : identifiersOf(type, parseJsonBytes(body) as Resource)
    return identifiers.length === 0 ? [] : [{ tenant, type, id, identifiers }]
  })

/** Separates system and value in an index key. Neither contains it, because FHIR strings have no control characters. */
const SEPARATOR = `|${FOLDED_KEY_PREFIX}`

function identifierOf(key: string): Identifier {
  const at = key.indexOf(SEPARATOR)
  return { system: key.slice(0, at), value: key.slice(at + SEPARATOR.length) }
}

/** Returns each condition of the search that names at most MAX_IDENTIFIERS exact identifiers and nothing else. A match meets each condition. */
export const identifierCriteriaOf = (where: Predicate): readonly (readonly IdentifierCriterion[])[] =>
  conjunctsOf(where).flatMap((each) => {
    const criteria = exactCriteriaOf(each)
    return criteria === undefined || criteria.length > MAX_IDENTIFIERS ? [] : [criteria]
  })

function exactCriteriaOf(p: Predicate): readonly IdentifierCriterion[] | undefined {
  const fields = p.kind === 'some' ? p.of : [p]
  const criteria: IdentifierCriterion[] = []
  for (const each of fields) {
    if (each.kind !== 'key' || (each.field !== FIELD && each.field !== VALUE_FIELD)) return undefined
    // Each value has a key with its case and a folded one. Identifiers have only folded keys.
    const keys = each.oneOf.filter((key) => key.includes(FOLDED_KEY_PREFIX))
    criteria.push(...keys.map((key) => (each.field === FIELD ? identifierOf(key) : { value: key.slice(1) })))
  }
  return criteria
}

/** Whether the document of a resource has an identifier that meets the criterion. */
export function hasIdentifier({ keys }: Pick<IndexDocument, 'keys'>, { value, system }: IdentifierCriterion): boolean {
  if (system === undefined) return keys[VALUE_FIELD]?.includes(FOLDED_KEY_PREFIX + value) === true
  return keys[FIELD]?.includes(system + SEPARATOR + value) === true
}
