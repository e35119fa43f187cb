/**
 * Version of a document in OpenSearch: the resource version, with the restore generation above it. After a restore the store uses version
 * numbers again, in a generation that is higher by one. So every document from before the restore is older than all that follow.
 * https://docs.opensearch.org/latest/api-reference/document-apis/index-document/
 */

/**
 * Factor of the restore generation. It exceeds the number of versions of any resource. Up to two million generations the result is an exact
 * integer.
 */
const OF_EPOCH = 2 ** 32

export const externalVersion = (epoch: number, version: number): number => epoch * OF_EPOCH + version

/** Returns the resource version in the version of a document. */
export const resourceVersionOf = (external: number): number => external % OF_EPOCH
