/** Additions of a finished export for a partner: Provenances of the transmission, and the record of disclosures. */
import { writeJson } from '../../fhir/json.ts'
import { type DisclosedMember, writeDisclosures } from '../../partners/disclosures/disclosures.ts'
import { transmissionsOf } from '../../partners/disclosures/transmissions.ts'
import type { Job, JobFile } from '../job/job.ts'
import { type JobLimits, readJobScope } from '../plan/job-scope.ts'
import { readWithheldPatients } from '../plan/permitted-patients.ts'
import type { ExportParts } from '../step-types.ts'
import { fileNameOf } from './multipart-uploads.ts'
import { writeWholeFile } from './whole-file.ts'

const PROVENANCE = 'Provenance'

/**
 * Records the disclosures of a job for a partner, and writes the Provenances of the transmission. Returns their file, or none. Idempotent.
 * Call it before the job is complete. `files`: files with resources.
 */
export async function recordPartnerExport(parts: ExportParts, job: Job, files: readonly JobFile[]): Promise<readonly JobFile[]> {
  if (job.partner === undefined) return []
  const { patients = [], limits } = await readJobScope(parts, job)
  const names = [...patients]
  // Without files nothing was transmitted.
  const provenances = files.length === 0 ? [] : await writeTransmissions(parts, job, names, files)
  const withheld = await readWithheldPatients(parts, job)
  await disclose(
    parts,
    { ...job, ...(limits?.windowStart === undefined ? {} : { windowStart: limits.windowStart }) },
    [...files, ...provenances],
    [
      ...names.map((patient) => ({ patient, outcome: 'exported' })),
      ...withheld.map(({ patient, reason }) => ({ patient, outcome: reason })),
    ],
  )
  return provenances
}

async function writeTransmissions(
  { blobs, disclosing }: ExportParts,
  job: Job,
  patients: readonly string[],
  files: readonly JobFile[],
): Promise<readonly JobFile[]> {
  const { id, transactionTime: at } = job
  const lines = transmissionsOf({ id, at, patients }, disclosing.payer)
  if (lines.length === 0) return []
  const name = fileNameOf(PROVENANCE, files.filter(({ type }) => type === PROVENANCE).length + 1)
  const file = { name, kind: 'output', type: PROVENANCE } as const
  return [await writeWholeFile(blobs, job, file, lines.map(writeJson))]
}

async function disclose(
  { disclosing }: ExportParts,
  { id, tenant, client, transactionTime, group, partner, asked, windowStart }: Job & Pick<JobLimits, 'windowStart'>,
  files: readonly JobFile[],
  members: readonly DisclosedMember[],
): Promise<void> {
  const types: Record<string, number> = {}
  for (const { kind, type, count } of files) if (kind === 'output') types[type] = (types[type] ?? 0) + count
  const { since, until } = asked
  const period = {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(windowStart === undefined ? {} : { windowStart }),
  }
  const request = { kind: 'export', at: transactionTime, tenant, job: id, partner: client, grounds: [`Group/${group}`] } as const
  await writeDisclosures(disclosing.blobs, { ...request, exportType: partner!.type, ...period, types }, members)
}
