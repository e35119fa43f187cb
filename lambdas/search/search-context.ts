/**
 * Search context: how the server interprets dates, references and custom parameters. The extraction and the query must use the same one.
 */
import type { BaseUrls } from '../fhir/references.ts'
import type { CustomMapping } from './custom-mapping.ts'

export type SearchContext = BaseUrls & {
  /** IANA name of the time zone for dates without an offset. Absent: UTC. */
  readonly timeZone?: string
  /** Whether the index holds all references of a resource, not only those that a parameter reads. */
  readonly allReferences?: boolean
  /** Custom parameters of the tenant, in addition to those of R4. */
  readonly custom?: readonly CustomMapping[]
  /** Elements that the caller does not receive. Searches by them are answered 403. Absent: the caller receives all elements. */
  readonly hiddenPaths?: HiddenPaths
  /** Codes of R4 parameters by type. The caller may use them although they read hidden elements. */
  readonly shownParameters?: ShownParameters
}

export type ShownParameters = Readonly<Record<string, readonly string[]>>

/** Paths of hidden elements by resource type, without the type: `item.net`. */
export type HiddenPaths = Readonly<Record<string, readonly string[]>>

/** Returns the search context of a tenant, with the custom parameters of that tenant only. */
export type SearchContextOf = (tenant: string) => SearchContext
