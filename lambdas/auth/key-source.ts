import type { Element } from '../fhir/resource.ts'

/** Fetches a JSON Web Key Set from where a client publishes it. Error where that fails; `fresh`: not from what is remembered. */
export type KeySource = (uri: string, fresh: boolean) => Promise<readonly Element[]>
