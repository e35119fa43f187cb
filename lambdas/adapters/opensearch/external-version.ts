/**
 * The version of a document in the engine: that of the resource, and above it the epoch, which is one higher each time the store was set back,
 * when numbers of versions are used again. What is from before is then older than anything that comes after.
 * https://docs.opensearch.org/latest/api-reference/document-apis/index-document/
 */

/** More versions than any resource has; with it two million epochs are whole numbers. */
const OF_EPOCH = 2 ** 32

export const externalVersion = (epoch: number, version: number): number => epoch * OF_EPOCH + version

/** Of the resource. */
export const resourceVersionOf = (external: number): number => external % OF_EPOCH
