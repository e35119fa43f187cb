/**
 * Record of the serving index of each resource type. All processes share it. It is stored apart from the search engine, so that an index
 * that is lost, empty or foreign is not mistaken for an index without documents.
 */
export type ServingIndices = {
  /** Identity for the index of a type that has none yet. The type gets it with its first document. */
  readonly identity: string
  /** Identity of the serving index, by type. Searches of a type fail if its index does not exist. */
  readonly types: Readonly<Record<string, string>>
  /** Types among `types` whose index is lost and not rebuilt yet. Their searches are answered 503. */
  readonly lacking: readonly string[]
  /** Identities that no serving index has any more. */
  readonly former: readonly string[]
  /** Restore generation: number of point-in-time restores of the store. Absent: none. */
  readonly epoch?: number
  /** Types among `types` whose index is unreconciled: it may hold versions that the restored store lacks. */
  readonly ahead?: readonly string[]
}

export interface IndexRegister {
  /** Registers existing indexes with this identity as the serving indexes of the types. Returns the resulting record. */
  begun(types: readonly string[], identity: string): Promise<ServingIndices>
  /** Reports missing indexes: the identity by type. If it is still the serving index of the type, it is rebuilt under a new identity. */
  lost(missing: Readonly<Record<string, string>>): Promise<void>
}

export const identityOf = ({ identity, types }: ServingIndices, type: string): string =>
  Object.hasOwn(types, type) ? types[type]! : identity

export const isServing = ({ types, lacking }: ServingIndices, type: string): boolean =>
  Object.hasOwn(types, type) && !lacking.includes(type)
