/** Members of a match, stored with its job in parts. They are removed when the job ends. */
import { parseJsonBytes, writeJson } from '../../fhir/json.ts'
import type { SentMember } from '../../partners/bulk/bulk-input.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { type Job, temporaryKeyOf } from '../job/job.ts'
import { checkKickOffTime } from '../job/kick-off-time.ts'

/** Members of one part. Each step decides one part. */
const MEMBERS = 200

const keyOf = (job: string, part: number): string => temporaryKeyOf(job, 'request', String(part))

export const partCountOf = (members: number): number => Math.ceil(members / MEMBERS)

/** Returns the position of a part's first member in the request. */
export const firstOfPart = (part: number): number => part * MEMBERS

/** Stores the members. The row of the job must exist. `pause`: called before each part, so that other requests can run. */
export async function storeRequestParts(
  blobs: Pick<BlobStore, 'put'>,
  job: string,
  members: readonly SentMember[],
  pause: () => Promise<void> | undefined,
): Promise<void> {
  for (let part = 0; part < partCountOf(members.length); part++) {
    await pause()
    const bytes = new TextEncoder().encode(writeJson(members.slice(firstOfPart(part), firstOfPart(part + 1))))
    await blobs.put(keyOf(job, part), { bytes, contentType: 'application/json' })
  }
}

/**
 * Whether all parts are stored. Throws ExportFault if the kick-off failed before it stored the last part. No client received its id then.
 */
export async function hasAllParts(blobs: Pick<BlobStore, 'get'>, job: Job, members: number, now: number): Promise<boolean> {
  if ((await blobs.get(keyOf(job.id, partCountOf(members) - 1), [0, 1])) !== undefined) return true
  checkKickOffTime(job, now)
  return false
}

export async function readRequestPart(blobs: Pick<BlobStore, 'get'>, job: string, part: number): Promise<readonly SentMember[]> {
  const blob = await blobs.get(keyOf(job, part))
  if (blob === undefined) throw new Error('A part of a match is missing')
  return parseJsonBytes(blob.bytes) as readonly SentMember[]
}
