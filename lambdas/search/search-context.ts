/** Search context: how the server interprets the texts of resources and queries. Both sides of a match use the same one. */
import type { BaseUrls } from '../fhir/references.ts'
import type { CustomMapping } from './custom-mapping.ts'

export type SearchContext = BaseUrls & {
  /** IANA name of the time zone of dates without an offset; absent: UTC. */
  readonly timeZone?: string
  /** Whether all references of a resource are indexed, not only those that a parameter reads. */
  readonly allReferences?: boolean
  /** Custom parameters, in addition to those of R4. */
  readonly custom?: readonly CustomMapping[]
}

/** Returns the search context of a tenant. It has only custom parameters of that tenant. */
export type SearchContextOf = (tenant: string) => SearchContext
