import type { Element } from '../fhir/resource.ts'

/**
 * Returns the keys that a client publishes as a JSON Web Key Set at `uri`. `fresh`: fetches the set again, not from the cache. Throws if
 * that fails.
 */
export type KeySource = (uri: string, fresh: boolean) => Promise<readonly Element[]>
