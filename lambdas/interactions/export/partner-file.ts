/**
 * Serves a file of an export, or of a match, for a partner by its access token. A link would still work after the partner was removed.
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-output-file-request
 */
import type { Access } from '../../access/access.ts'
import { filesNeedToken, type Job, type JobFile } from '../../export/job/job.ts'
import { readJob } from '../../export/job/job-transitions.ts'
import { fileExpiryOf } from '../../export/job/lifetimes.ts'
import type { ExportUrlSigner } from '../../ports/blobs/file-links.ts'
import type { Clients } from '../../ports/rows/clients.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { forbidden, insufficientScope } from '../forbidden.ts'
import type { FhirResponse, Interaction, Ports } from '../interaction.ts'
import { isName, isOwnJob } from './caller-job.ts'
import { fileNameOf, noFile } from './file.ts'

type PartnerFilePorts = Pick<Ports, 'clock' | 'choices'> & {
  readonly clients: Pick<Clients, 'get'>
  readonly exports: { readonly rows: Rows }
}

/** Returns the response with the file, or with a link to it. */
type Delivery = (job: Job, file: JobFile) => Promise<FhirResponse>

/** How long a link for a partner is valid, in milliseconds. The download must begin within this time. */
const LINK_MS = 5 * 60_000

/**
 * Returns the file. Throws FhirError 404 for a job of another caller and for a job whose files have links, and 403 for a client that is not
 * registered as a partner and for a token that does not cover the type.
 */
export const partnerFile =
  ({ clock, choices, clients, exports: { rows } }: PartnerFilePorts, deliver: Delivery): Interaction =>
  async (request) => {
    const { id = '', file: path = '', tenant, client, access } = request
    const job = isName(id) ? await readJob(rows, id) : undefined
    if (job?.state !== 'complete' || !filesNeedToken(job)) throw noFile()
    if (clock.now() >= fileExpiryOf(job, choices.exportRetentionDays)!) throw noFile()
    // guard: partner-file-of-own-job
    if (job.tenant !== tenant || !isOwnJob(job, request)) throw noFile()
    // guard: partner-file-of-registered-partner
    if (access.partner !== undefined && (await clients.get(client))?.partner === undefined)
      throw forbidden('This client is not registered as a partner of this server')
    const name = fileNameOf(path)
    const file = job.files?.find((each) => each.name === name)
    if (file === undefined) throw noFile()
    const type = file.type === 'Parameters' ? 'Group' : file.type
    // guard: partner-file-of-covered-type
    if (file.kind === 'output' && covers(job.access, type) && !covers(access, type)) throw insufficientScope(access, type, 'r')
    return { ...(await deliver(job, file)), job }
  }

/**
 * Whether exports for a partner with this access contain the type. Tokens with a member in context cover no files, because files contain
 * data of many members.
 */
function covers({ clauses, partner }: Access, type: string): boolean {
  const exported = partner?.exported ?? clauses
  return exported.some((clause) => [type, '*'].includes(clause.type) && clause.letters.includes('r') && clause.within === undefined)
}

/** Returns the response that redirects to a signed link. */
export const redirectToLink =
  ({ clock, urls }: Pick<Ports, 'clock'> & { readonly urls: ExportUrlSigner }): Delivery =>
  async ({ id: job, client, user }, { name: file }) => {
    const location = await urls.sign({ job, file, client, ...(user === undefined ? {} : { user }) }, clock.now() + LINK_MS)
    return { status: 307, headers: { location } }
  }
