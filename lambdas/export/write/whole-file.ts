/** Files of a job that are small enough to be written at once. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { fileKeyOf, type Job, type JobFile } from '../job/job.ts'
import { NDJSON_CONTENT_TYPE } from './multipart-uploads.ts'

/** Writes a file. `lines`: JSON texts without line ends. A file of the same name is replaced. */
export async function writeWholeFile(
  blobs: Pick<BlobStore, 'put'>,
  { id }: Pick<Job, 'id'>,
  file: Pick<JobFile, 'name' | 'kind' | 'type'>,
  lines: readonly string[],
): Promise<JobFile> {
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
  await blobs.put(fileKeyOf(id, file.name), { bytes, contentType: NDJSON_CONTENT_TYPE })
  return { ...file, count: lines.length, size: bytes.length }
}
