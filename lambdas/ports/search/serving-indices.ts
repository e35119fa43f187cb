/**
 * Which index answers for which type: what all processes agree on apart from the engine that holds the indices, so that one that is lost,
 * empty or another's is not taken for an index without documents.
 */
export type ServingIndices = {
  /** Of the index a type comes to have when its first document is written. */
  readonly identity: string
  /** Types that have an index → its identity. A search of any of them fails where that is not there. */
  readonly types: Readonly<Record<string, string>>
  /** Those of `types` whose index was lost, and is not made again yet. */
  readonly lacking: readonly string[]
  /** Identities nobody goes by any more. */
  readonly former: readonly string[]
  /** How many times the store was set back to an earlier time. Absent: never. */
  readonly epoch?: number
  /** Those of `types` whose index may know what the store, which was set back, does not have. */
  readonly ahead?: readonly string[]
}

export interface IndexRegister {
  /** The types have an index of this identity, which is there already. What they came to. */
  begun(types: readonly string[], identity: string): Promise<ServingIndices>
  /** Type → the identity its index was missed under: where that still counts, the index is made again under another. */
  lost(missing: Readonly<Record<string, string>>): Promise<void>
}

export const identityOf = ({ identity, types }: ServingIndices, type: string): string =>
  Object.hasOwn(types, type) ? types[type]! : identity

export const isServing = ({ types, lacking }: ServingIndices, type: string): boolean =>
  Object.hasOwn(types, type) && !lacking.includes(type)
