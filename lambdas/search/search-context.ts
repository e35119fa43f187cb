/** How texts of resources and of queries are read here: the same on both sides of a match. */
import type { BaseUrls } from '../fhir/references.ts'
import type { CustomMapping } from './custom-mapping.ts'

export type SearchContext = BaseUrls & {
  /** IANA name of the time zone of dates without an offset; absent: UTC. */
  readonly timeZone?: string
  /** All references of a resource are indexed, not only those a parameter looks for. */
  readonly allReferences?: boolean
  /** Parameters beyond those of R4. */
  readonly custom?: readonly CustomMapping[]
}

/** How a tenant's texts are read: by its own parameters, and by nobody else's. */
export type SearchContextOf = (tenant: string) => SearchContext
