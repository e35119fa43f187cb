/**
 * Record of the serving index of each resource type. All processes share it. It is stored apart from the search engine, so that an index
 * that is lost, empty or foreign is not mistaken for an index without documents.
 */

/** The index of a type. Searches of the type fail while it is missing, lost or unreconciled. */
export type ServingIndex = {
  /** Name under which searches address it. A lost index gets another one. Absent until the type has an index. */
  readonly identity?: string
  /** Present if the index is lost and not rebuilt yet. */
  readonly lost?: true
  /** Present after a restore of the store, while the index may hold versions that the store lacks. */
  readonly unreconciled?: true
}

export type ServingIndices = {
  /** Identity for the index of a type that has none yet. The type gets it with its first document. */
  readonly identity: string
  readonly types: Readonly<Record<string, ServingIndex>>
  /** Identities that no serving index has any more. */
  readonly former: readonly string[]
  /** Restore generation: number of point-in-time restores of the store. Absent: none. */
  readonly epoch?: number
}

export interface IndexRegister {
  /** Registers existing indexes with this identity as the serving indexes of the types. Returns the resulting record. */
  begun(types: readonly string[], identity: string): Promise<ServingIndices>
  /** Reports missing indexes: the identity by type. If it is still the serving index of the type, it is rebuilt under a new identity. */
  lost(missing: Readonly<Record<string, string>>): Promise<void>
}

export const identityOf = ({ identity, types }: ServingIndices, type: string): string => types[type]?.identity ?? identity

export const isServing = (index: ServingIndex | undefined): boolean => index?.identity !== undefined && !index.lost

/** Returns the identities of the serving indices, by type. */
export const servingIdentitiesOf = ({ types }: ServingIndices): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(types).flatMap(([type, index]) => (isServing(index) ? [[type, index.identity!]] : [])))
