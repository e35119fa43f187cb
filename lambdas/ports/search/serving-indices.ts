/**
 * Serving index of each resource type. All processes share this record, which is stored apart from the search engine. So an index that is
 * lost, empty or foreign is not mistaken for an index without documents.
 */
export type ServingIndices = {
  /** Identity of the index that a type gets with its first document. */
  readonly identity: string
  /** Identity of the serving index, by type. Searches of a type fail if its index does not exist. */
  readonly types: Readonly<Record<string, string>>
  /** Types among `types` whose index is lost and not rebuilt yet. */
  readonly lacking: readonly string[]
  /** Identities that are no longer in use. */
  readonly former: readonly string[]
  /** Restore generation: how often the store was returned to an earlier time. Absent: never. */
  readonly epoch?: number
  /** Types among `types` whose index is unreconciled: it may hold versions that the restored store lacks. */
  readonly ahead?: readonly string[]
}

export interface IndexRegister {
  /** Registers the indices of these types, which exist already under this identity. Returns the resulting record. */
  begun(types: readonly string[], identity: string): Promise<ServingIndices>
  /** Reports missing indices, as type and identity. An index that is still registered with this identity is rebuilt under a new one. */
  lost(missing: Readonly<Record<string, string>>): Promise<void>
}

export const identityOf = ({ identity, types }: ServingIndices, type: string): string =>
  Object.hasOwn(types, type) ? types[type]! : identity

export const isServing = ({ types, lacking }: ServingIndices, type: string): boolean =>
  Object.hasOwn(types, type) && !lacking.includes(type)
