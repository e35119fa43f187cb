/** Polls an export job until it is complete, or cancels it. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-status-request */
import { ExportFault } from './export-fault.ts'
import { type Manifest, parseManifest } from './manifest.ts'
import { outcomeSuffixOf, type RequestOptions, retryAfterMs, sendWithRetries } from './retrying-requests.ts'

/** Milliseconds between two status requests if the server names no time. The pause grows from `first` to `longest`. */
const PAUSE = { first: 500, longest: 30_000 }

/** The server does not have the job: it was cancelled or has expired. */
export class JobNotFound extends ExportFault {}

/**
 * Returns the manifest when the job is complete. `onProgress`: called with the progress text of the server, or an empty text. Throws
 * JobNotFound if the server has no such job, and another ExportFault if the job fails.
 */
export async function pollJob(job: string, options: RequestOptions, onProgress: (text: string) => void): Promise<Manifest> {
  for (let pause = PAUSE.first; ; pause = Math.min(pause * 1.5, PAUSE.longest)) {
    const answer = await sendWithRetries(job, { headers: { accept: 'application/json' } }, options)
    if (answer.status === 200) return parseManifest(answer.text, job)
    if (answer.status === 404 || answer.status === 410) throw new JobNotFound('refused', `The server does not know the export ${job}`)
    if (answer.status !== 202)
      throw new ExportFault(
        answer.status >= 500 ? 'failed' : 'refused',
        `The export failed: ${answer.status}${outcomeSuffixOf(answer.text)}`,
      )
    onProgress(answer.headers.get('x-progress') ?? '')
    await options.patience.wait(retryAfterMs(answer.headers) || pause, options.signal)
  }
}

/**
 * Cancels a job: the server stops it and removes its files. Throws ExportFault if the server refuses. A job that the server no longer has
 * counts as cancelled.
 */
export async function cancelJob(job: string, options: RequestOptions): Promise<void> {
  const { status, text } = await sendWithRetries(job, { method: 'DELETE', headers: { accept: 'application/fhir+json' } }, options)
  if (status >= 300 && status !== 404 && status !== 410)
    throw new ExportFault('refused', `The job could not be cancelled: ${status}${outcomeSuffixOf(text)}`)
}
