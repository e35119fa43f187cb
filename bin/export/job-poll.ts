/** A job of a server, until it is done. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-status-request */
import { ExportFault } from './export-fault.ts'
import { type Manifest, parseManifest } from './manifest.ts'
import { outcomeSuffixOf, type RequestOptions, retryAfterMs, sendWithRetries } from './retrying-requests.ts'

/** Milliseconds between two questions where the server does not say. */
const PAUSE = { first: 500, longest: 30_000 }

/** The server does not know it: it was taken back, or has ended long ago. */
export class JobNotFound extends ExportFault {}

/** `onProgress`: what the server says of how far it is, if it does. ExportFault where the job fails; JobNotFound. */
export async function pollJob(job: string, asking: RequestOptions, onProgress: (text: string) => void): Promise<Manifest> {
  for (let pause = PAUSE.first; ; pause = Math.min(pause * 1.5, PAUSE.longest)) {
    const answer = await sendWithRetries(job, { headers: { accept: 'application/json' } }, asking)
    if (answer.status === 200) return parseManifest(answer.text, job)
    if (answer.status === 404 || answer.status === 410) throw new JobNotFound('refused', `The server does not know the export ${job}`)
    if (answer.status !== 202)
      throw new ExportFault(
        answer.status >= 500 ? 'failed' : 'refused',
        `The export failed: ${answer.status}${outcomeSuffixOf(answer.text)}`,
      )
    onProgress(answer.headers.get('x-progress') ?? '')
    await asking.patience.wait(retryAfterMs(answer.headers) || pause, asking.signal)
  }
}

/** It does nothing more, and its files are removed. ExportFault where the server does not say so. */
export async function cancelJob(job: string, asking: RequestOptions): Promise<void> {
  const { status, text } = await sendWithRetries(job, { method: 'DELETE', headers: { accept: 'application/fhir+json' } }, asking)
  if (status >= 300 && status !== 404 && status !== 410)
    throw new ExportFault('refused', `It is not taken back: ${status}${outcomeSuffixOf(text)}`)
}
