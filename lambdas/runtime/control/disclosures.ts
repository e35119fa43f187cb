/** Records of disclosures to partners, in a data folder. */
import { join } from 'node:path'
import { FilesystemBlobStore } from '../../adapters/filesystem/blob-store.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { checkHasData, DISCLOSURES_FOLDER } from './lost-files.ts'

export { type Disclosure, type DisclosureFilter, readDisclosures } from '../../partners/disclosures/disclosures.ts'

/** Store of records, for reading only. */
export type DisclosureRecords = Pick<BlobStore, 'list' | 'get'>

/** Opens the records of a data folder. The server of the folder may run. Throws an Error for a folder without a store. */
export function openDisclosures(folder: string): DisclosureRecords {
  checkHasData(folder)
  return new FilesystemBlobStore(join(folder, DISCLOSURES_FOLDER))
}
