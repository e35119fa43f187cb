/**
 * `Group/$bulk-member-match` of another payer and `Group/$provider-member-match` of a provider: start a job that finds many members. Its files
 * are those of an export. http://hl7.org/fhir/us/davinci-pdex/OperationDefinition/BulkMemberMatch,
 * http://hl7.org/fhir/us/davinci-pdex/OperationDefinition/ProviderMemberMatch
 */
import type { MatchOperation } from '../../access/operation-scopes.ts'
import { JOB_ROWS, type Job } from '../../export/job/job.ts'
import { startJob } from '../../export/job/job-sweep.ts'
import { admitJob } from '../../export/job/running-jobs.ts'
import { storeRequestParts } from '../../export/match/request-parts.ts'
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { bulkInputOf, type SentMember } from '../../partners/bulk/bulk-input.ts'
import type { MatchRequest, MatchSettings } from '../../partners/bulk/match-request.ts'
import type { MatchLimits } from '../../partners/guesses/match-limits.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { type ExportPorts, needsPrefer } from '../export/ports.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { yieldIfDue } from '../time-slices.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'
import { requesterOf } from './match-requester.ts'
import type { MatchChoices } from './member-match.ts'
import { checkParameters } from './operation-input.ts'

export type BulkMatchPorts = {
  readonly clock: Clock
  readonly choices: MatchChoices
  readonly matchLimits: Pick<MatchLimits, 'check'>
  readonly exports: Pick<ExportPorts, 'rows' | 'workflow' | 'report' | 'epoch'> & { readonly blobs: Pick<BlobStore, 'put'> }
}

/** Maximum matches of a client that run at the same time. Further requests are answered 429. */
const MAX_RUNNING = 5

/** Returns 202 with the status URL of the job in Content-Location. Rejects an invalid request before it stores a job. */
export const startBulkMatch =
  (ports: BulkMatchPorts, kind: PartnerKind): Interaction =>
  async (request) => {
    if (request.type !== 'Group') throw fhirError(404, 'not-supported', `This operation exists only as ${pathOf(kind)}`)
    checkParameters(request.parameters, [])
    const { choices, clock, exports, matchLimits } = ports
    const { identifiers } = requesterOf(request, OPERATIONS[kind])
    if (request.preferences['respond-async'] === undefined) throw needsPrefer('A match of many members')
    if (identifiers !== undefined) await matchLimits.check(request.client)
    const limit = choices.maxMatchMembers
    const members = await bulkInputOf(request.resource, { structureIssuesOf, limit, pause: yieldIfDue })
    const match: MatchRequest = {
      ...{ kind, members: members.length },
      ...(identifiers === undefined ? {} : { identifiers }),
      settings: settingsOf(choices, kind),
    }
    const job = jobOf(request, match, clock, exports.epoch)
    await begin(exports, job, members)
    return { status: 202, headers: { 'content-location': `${request.baseUrl}/export/${job.id}` }, job }
  }

const OPERATIONS: Readonly<Record<PartnerKind, MatchOperation>> = { payer: 'bulk-member-match', provider: 'provider-member-match' }

const pathOf = (kind: PartnerKind): string => `Group/$${OPERATIONS[kind]}`

function settingsOf(choices: MatchChoices, kind: PartnerKind): MatchSettings {
  const { payer, organizationName, sensitiveLabels, reportOptOut, treatment } = choices
  const days = kind === 'payer' ? choices.payerGroupDays : choices.providerGroupDays
  return { payer, organizationName, sensitiveLabels, reportOptOut, treatment, longest: days * DAY }
}

const DAY = 24 * 60 * 60 * 1_000

function jobOf(request: FhirRequest, match: MatchRequest, clock: Clock, epoch = 0): Job {
  const { tenant, client, user, access, baseUrl } = request
  return {
    ...{ id: clock.newId(), tenant, client, access, baseUrl, request: `${baseUrl}/${pathOf(match.kind)}` },
    ...(user === undefined ? {} : { user }),
    ...{ kind: 'match', match, level: 'group', asked: { elements: [], patients: [], filters: [], passedOver: [] } },
    ...(epoch === 0 ? {} : { epoch }),
    ...{ transactionTime: clock.now(), state: 'in-progress', attempt: 1 },
  }
}

/** Stores the row of the job before the request, because a sweep removes data of jobs that do not exist. */
async function begin(
  { rows, blobs, workflow, report }: BulkMatchPorts['exports'],
  job: Job,
  members: readonly SentMember[],
): Promise<void> {
  await rows.change<Job>(JOB_ROWS, job.id, (known) => known ?? job)
  if (!(await admitJob(rows, job, MAX_RUNNING))) {
    await rows.remove(JOB_ROWS, job.id)
    throw tooMany()
  }
  await storeRequestParts(blobs, job.id, members, yieldIfDue)
  await startJob(workflow, job).catch(report)
}

/** Retry-After in seconds. */
const AGAIN = '10'

const tooMany = (): FhirError =>
  new FhirError(
    429,
    [
      {
        severity: 'error',
        code: 'throttled',
        text: `${MAX_RUNNING} matches of this client are already running. Wait for one of them, or cancel it`,
      },
    ],
    { 'retry-after': AGAIN },
  )
