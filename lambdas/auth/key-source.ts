import type { Element } from '../fhir/resource.ts'

/** Fetches the JSON Web Key Set that a client publishes. Throws Error if that fails. `fresh`: reads the set again, not from the cache. */
export type KeySource = (uri: string, fresh: boolean) => Promise<readonly Element[]>
