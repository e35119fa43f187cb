/**
 * Serves a file of an export by its link. Specification 4.5;
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-output-file-request
 */
import { fileKeyOf, type Job, type JobFile } from '../../export/job/job.ts'
import { readJob } from '../../export/job/job-transitions.ts'
import type { LinkSigner, SignedLink } from '../../export/job/signed-links.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { forbidden } from '../forbidden.ts'
import type { FhirRequest, FhirResponse, Interaction, Ports, StoredFile } from '../interaction.ts'

type FilePorts = Pick<Ports, 'clock'> & {
  readonly exports: { readonly rows: Rows; readonly blobs: Pick<BlobStore, 'get'> }
  readonly links: Pick<LinkSigner, 'check'>
}

/**
 * Returns the file. The signed link alone authorizes the request. A token, if sent, must belong to the client of the link. If a user
 * started the export, it must also belong to that user. Throws FhirError 403 for an invalid or expired link and another caller. Throws 404
 * if the file was removed.
 */
export const exportFile =
  ({ clock, exports: { rows, blobs }, links }: FilePorts): Interaction =>
  async (request) => {
    const link = linkOf(request)
    if (link === undefined || !links.check(link)) throw forbidden('This link is none of this server, or was changed')
    if (clock.now() >= link.expires * 1000) throw forbidden('This link has expired: the manifest of the export holds others')
    if (request.client !== '' && request.client !== link.client) throw forbidden('This link was handed to another client')
    const job = await readJob(rows, link.job)
    // guard: export-file-of-own-user
    if (request.client !== '' && job?.user !== undefined && job.user !== request.user)
      throw forbidden('This link was handed to another user')
    const file = job?.state === 'complete' ? job.files?.find(({ name }) => name === link.file) : undefined
    if (job === undefined || file === undefined) throw noFile()
    const { tenant, client } = job
    return { ...(await responseWithFile(blobs)(job, file)), job, by: { tenant, client } }
  }

/** Returns the response with a file of a job. Throws FhirError 404 if the file was removed. */
export const responseWithFile =
  (blobs: FilePorts['exports']['blobs']) =>
  async ({ id, ended }: Job, file: JobFile): Promise<FhirResponse> => {
    const key = fileKeyOf(id, file.name)
    if (ended === undefined || (await blobs.get(key, [0, 1])) === undefined) throw noFile()
    return { status: 200, file: storedFile(blobs, key, file, `${id}-${file.name}`, ended) }
  }

function linkOf({ id, file = '', parameters }: FhirRequest): SignedLink | undefined {
  const only = (name: string): string | undefined => {
    const values = parameters.filter(([each]) => each === name)
    return values.length === 1 ? values[0]![1] : undefined
  }
  const [client, expires = '', signature] = [only('client'), only('expires'), only('signature')]
  const name = fileNameOf(file)
  if (id === undefined || name === undefined || client === undefined || signature === undefined || !/^[1-9]\d{0,11}$/.test(expires))
    return undefined
  return { job: id, file: name, client, expires: Number(expires), signature }
}

/** Returns the name of a file without its extension, or undefined for a text that names no file. */
export const fileNameOf = (text: string): string | undefined => /^([\w.-]{1,200})\.ndjson$/.exec(text)?.[1]

const storedFile = (
  blobs: FilePorts['exports']['blobs'],
  key: string,
  { name, size }: JobFile,
  tag: string,
  written: number,
): StoredFile => ({
  ...{ name: `${name}.ndjson`, size, tag, written, contentType: 'application/fhir+ndjson' },
  read: (from, to) => piecesOf(blobs, key, from, to),
})

/** Bytes of the file in each read. They are few, because a thousand concurrent downloads may each hold two such pieces in memory. */
const PIECE = 128 * 1024

/** Yields the bytes. Throws if the file was removed or cut meanwhile, so that a partial download does not look complete. */
async function* piecesOf(blobs: FilePorts['exports']['blobs'], key: string, from: number, to: number): AsyncGenerator<Uint8Array> {
  for (let at = from; at < to; at += PIECE) {
    const end = Math.min(at + PIECE, to)
    const piece = await blobs.get(key, [at, end])
    if (piece?.bytes.length !== end - at) throw new Error('A file of an export was removed, or cut, while it was sent')
    yield piece.bytes
  }
}

export const noFile = (): FhirError => fhirError(404, 'not-found', 'This file was removed, or its export was cancelled')
