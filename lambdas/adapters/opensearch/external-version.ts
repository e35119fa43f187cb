/**
 * Version of a document in the engine: the resource version plus the restore generation above it. A restore of the store reuses version
 * numbers and raises the generation by one. So any document from before is older than all that follow.
 * https://docs.opensearch.org/latest/api-reference/document-apis/index-document/
 */

/** Factor of the generation, above the number of versions of any resource. Two million generations remain exact integers. */
const OF_EPOCH = 2 ** 32

export const externalVersion = (epoch: number, version: number): number => epoch * OF_EPOCH + version

/** Returns the version number of the resource. */
export const resourceVersionOf = (external: number): number => external % OF_EPOCH
