/** Status of a bulk export. Specification 3.1, 4.5; https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-status-request */
import { filesNeedToken, type Job, type JobFile } from '../../export/job/job.ts'
import { changeJob, setRetrievalTime } from '../../export/job/job-transitions.ts'
import { LINK_LIFETIME_MS } from '../../export/job/lifetimes.ts'
import { manifestOf } from '../../export/job/manifest.ts'
import { progressOf } from '../../export/job/progress.ts'
import { FhirError } from '../../fhir/outcome.ts'
import { toHttpDate as httpDate } from '../../fhir/version.ts'
import type { FhirResponse, Interaction, Ports } from '../interaction.ts'
import { jobNotFound, readCallerJob } from './caller-job.ts'
import type { ExportPorts } from './ports.ts'

type StatusPorts = Pick<Ports, 'clock' | 'choices'> & { readonly exports: Pick<ExportPorts, 'rows' | 'urls'> }

/** Returns 202 with the progress while the job runs, and 200 with the manifest when it is complete. Throws FhirError 500 if it failed. */
export const exportStatus =
  ({ clock, choices, exports }: StatusPorts): Interaction =>
  async (request) => {
    const now = clock.now()
    const own = () => readCallerJob(exports.rows, request, now, choices)
    const known = await own()
    const progress = known.state === 'in-progress' ? await progressOf(exports.rows, known) : ''
    // Read the job again: if it ended meanwhile its progress rows are gone, and the progress would seem to fall.
    const job = known.state === 'in-progress' ? await own() : known
    if (job.state === 'error') throw failed(job)
    return job.state === 'complete' ? handedOut(exports, job, now) : underWay(progress, now - job.transactionTime)
  }

const failed = ({ reason = 'The export failed' }: Job): FhirError =>
  new FhirError(500, [{ severity: 'error', code: 'exception', text: reason }])

const underWay = (progress: string, age: number): FhirResponse => ({
  status: 202,
  headers: { 'x-progress': progress, 'retry-after': String(patienceFor(age)) },
})

/** Returns Retry-After in seconds: a tenth of the age of the job, from 1 to 60. */
export const patienceFor = (age: number): number => Math.min(60, Math.max(1, Math.round(age / 10_000)))

/** Returns the manifest with links. Stores the time of this request first, so that the files are retained until the links expire. */
async function handedOut({ rows, urls }: StatusPorts['exports'], { id }: Job, now: number): Promise<FhirResponse> {
  const job = await changeJob(rows, id, setRetrievalTime(now))
  if (job?.state !== 'complete') throw jobNotFound()
  const expires = now + LINK_LIFETIME_MS
  const user = job.user === undefined ? {} : { user: job.user }
  const linkTo = async ({ name }: JobFile): Promise<string> =>
    filesNeedToken(job)
      ? `${job.baseUrl}/export/${id}/${name}.ndjson`
      : urls.sign({ job: id, file: name, client: job.client, ...user }, expires)
  const links = (job.files ?? []).map(async (file) => [file.name, await linkTo(file)] as const)
  const manifest = manifestOf(job, new Map(await Promise.all(links)))
  return {
    status: 200,
    headers: { 'content-type': 'application/json', expires: httpDate(expires) },
    body: new TextEncoder().encode(JSON.stringify(manifest)),
  }
}
