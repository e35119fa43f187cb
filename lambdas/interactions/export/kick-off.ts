/** Kick-off of a bulk export. Specification 4.5, 3.1; https://hl7.org/fhir/uv/bulkdata/STU2/export.html#bulk-data-kick-off-request */

import type { Access } from '../../access/access.ts'
import { REFERENCED_TYPES } from '../../access/partner-types.ts'
import { ruleOfClause } from '../../access/rules.ts'
import { createSearchAccess, type SearchCaller } from '../../access/search-access.ts'
import {
  type ExportLevel,
  type ExportRequest,
  MAX_REQUEST_LENGTH,
  parseExportRequest,
  requestTooLong,
} from '../../export/export-request.ts'
import { executionNameOf, JOB_ROWS, type Job } from '../../export/job/job.ts'
import { admitJob } from '../../export/job/running-jobs.ts'
import { parseParametersBody } from '../../export/parameters-body.ts'
import type { PartnerExport } from '../../export/partner-export.ts'
import { storeNamedPatients } from '../../export/plan/named-patients.ts'
import { checkPartnerRequest, typeSettingsOf } from '../../export/plan/partner-types.ts'
import { checkExportRequest } from '../../export/plan/request-check.ts'
import { chainAccessOf, checkFilters, filterReadingOf } from '../../export/plan/type-filters.ts'
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { isGroupInForce } from '../../partners/groups/group-period.ts'
import { storedGroupOf } from '../../partners/groups/stored-group.ts'
import type { SearchAccess } from '../../search/query/condition.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { forbidden } from '../forbidden.ts'
import type { FhirRequest, FhirResponse, Interaction, Ports } from '../interaction.ts'
import { keyOf } from '../resources/request-key.ts'
import { notFound, readCurrentVersion } from '../resources/version-response.ts'
import { searchAccessOf } from '../searching/request-search-access.ts'
import { yieldIfDue } from '../time-slices.ts'
import { type GroupAccessPorts, groupAccessOf } from './group-access.ts'
import { type ExportPorts, needsPrefer } from './ports.ts'

export type KickOffPorts = Pick<Ports, 'resources' | 'clock'> & {
  readonly choices: Pick<Ports['choices'], 'exportNeedsAssertion' | 'userExports' | 'maxRunningExports'>
  readonly exports: Pick<ExportPorts, 'rows' | 'workflow' | 'report' | 'epoch' | 'settings'>
} & GroupAccessPorts

/** Returns 202 with the status URL of the job in Content-Location. Rejects an invalid request before it stores a job. */
export const startExport =
  (ports: KickOffPorts): Interaction =>
  (request) =>
    kickOff(ports, request, levelOf(request))

/** Parsed kick-off of an export for a partner. `parameters`: without `exportType`. `access`: limits the content of the files. */
export type PartnerKickOff = { readonly partner: PartnerExport; readonly parameters: ParameterPairs; readonly access: Access }

/** Parses the request of an export for a partner. Throws FhirError for an invalid one. */
export type ParsePartnerKickOff = (parameters: ParameterPairs) => PartnerKickOff

/** Starts an export. `parse`: present if it is for a partner. */
export async function kickOff(
  ports: KickOffPorts,
  request: FhirRequest,
  level: ExportLevel,
  parse?: ParsePartnerKickOff,
): Promise<FhirResponse> {
  const { clock, choices, exports } = ports
  // guard: user-starts-no-export
  if (request.user !== undefined && !choices.userExports) throw isExternal(request) ? refusesExternal() : refusesUsers()
  if (choices.exportNeedsAssertion && request.clientAuth !== 'assertion') throw isExternal(request) ? refusesExternal() : needsAssertion()
  // guard: partner-exports-under-its-view
  if (request.access.partner !== undefined && parse === undefined) throw needsPartnerExport()
  if (request.preferences['respond-async'] === undefined) throw needsPrefer('An export')
  await yieldIfDue()
  const lenient = request.preferences.handling === 'lenient'
  const sent = request.resource === undefined ? request.parameters : [...request.parameters, ...parseParametersBody(request.resource)]
  const parsed: Partial<PartnerKickOff> = parse?.(sent) ?? {}
  const { parameters = sent, access = request.access, ...kind } = parsed
  const settings = typeSettingsOf(exports.settings, kind)
  const reading = filterReadingOf(request.reading, kind)
  const asked = checkExportRequest(exportRequestOf({ ...request, reading }, parameters, level, clock.now()), level, lenient, settings)
  checkPartnerRequest(kind.partner, asked)
  checkFilters(asked.filters, chainSearchAccessOf({ ...request, access: chainAccessOf(access, kind) }, kind.partner), reading)
  // guard: partner-export-by-conditions-on-shown-elements
  if (kind.partner !== undefined) checkConditions(access, request.reading)
  const group = level === 'group' ? { groupAccess: await visibleGroup(ports, request, kind.partner) } : {}
  const job = jobOf({ ...request, access }, { level, ...group, ...kind }, asked, ports)
  await begin(exports, job, asked.patients, choices.maxRunningExports)
  return { status: 202, headers: { 'content-location': `${request.baseUrl}/export/${job.id}` }, job }
}

/** Returns the access of the chains of filters. For a partner the error names the permitted types, because no scope permits others. */
function chainSearchAccessOf(caller: SearchCaller, partner: PartnerExport | undefined): SearchAccess {
  if (partner === undefined) return searchAccessOf(caller)
  const text = (type: string) => `_typeFilter cannot search ${type} in this export. Its chains lead only to ${REFERENCED_TYPES.join(', ')}`
  return createSearchAccess(caller, (type) => forbidden(text(type)))
}

function levelOf({ type, id }: FhirRequest): ExportLevel {
  if (type === undefined) return 'system'
  if (type === 'Patient' && id === undefined) return 'patient'
  if (type === 'Group' && id !== undefined) return 'group'
  throw fhirError(
    404,
    'not-supported',
    'Exports are of everything, of patients and of groups: $export, Patient/$export, Group/[id]/$export',
  )
}

/** Throws FhirError 403 if the condition of a scope reads an element that a partner does not receive. */
function checkConditions({ clauses, view }: Access, reading: SearchContext): void {
  for (const clause of clauses) ruleOfClause(clause, clause.type, reading, view)
}

const exportRequestOf = (
  { posted, preferences, reading }: FhirRequest,
  parameters: ParameterPairs,
  level: ExportLevel,
  now: number,
): ExportRequest => parseExportRequest({ level, posted, lenient: preferences.handling === 'lenient', parameters, reading, now })

function jobOf(
  request: FhirRequest,
  { level, groupAccess, partner }: Pick<Job, 'level' | 'groupAccess' | 'partner'>,
  asked: ExportRequest,
  { clock, exports: { epoch = 0 } }: KickOffPorts,
): Job {
  const { tenant, client, user, access, baseUrl, url = '', id } = request
  const job: Job = {
    ...{ id: clock.newId(), tenant, client, access, request: url, baseUrl, level },
    ...(user === undefined ? {} : { user }),
    ...(asked.patients.length === 0 ? { asked } : { asked: { ...asked, patients: [] }, patients: asked.patients.length }),
    ...(groupAccess === undefined || id === undefined ? {} : { group: id, groupAccess }),
    ...(partner === undefined ? {} : { partner }),
    ...(epoch === 0 ? {} : { epoch }),
    ...{ transactionTime: clock.now(), state: 'in-progress', attempt: 1 },
  }
  if (Buffer.byteLength(JSON.stringify(job)) > MAX_REQUEST_LENGTH) throw requestTooLong()
  return job
}

/**
 * Returns the access for reading the Group of the request. Throws FhirError 404 if the Group is missing, deleted or hidden from the caller, and
 * for a partner also if it is past its period.
 */
async function visibleGroup(ports: KickOffPorts, request: FhirRequest, partner: PartnerExport | undefined): Promise<Access> {
  const access = await groupAccessOf(ports, request)
  const key = keyOf(request)
  const group = await readCurrentVersion(ports.resources({ ...request, access }, 'r'), key)
  if (partner === undefined) return access
  const stored = await storedGroupOf(group.body, yieldIfDue)
  const isInForce = isGroupInForce(stored, ports.clock.now(), request.reading.timeZone)
  // guard: group-in-its-period
  if (!isInForce) throw notFound(key)
  return access
}

/**
 * Stores and starts the job. Throws FhirError 429 if the client already runs the maximum of exports. If the workflow fails to start, the
 * sweep starts it later. A scheduled export may call this twice with the same job, so each step has the same effect if repeated.
 */
async function begin(
  { rows, workflow, report }: KickOffPorts['exports'],
  job: Job,
  patients: readonly string[],
  most: number,
): Promise<void> {
  // guard: export-starts-once
  await rows.change<Job>(JOB_ROWS, job.id, (known) => known ?? job)
  if (!(await admitJob(rows, job, most))) {
    await rows.remove(JOB_ROWS, job.id)
    throw tooMany(most)
  }
  await storeNamedPatients(rows, job.id, patients, yieldIfDue)
  await workflow.start(executionNameOf(job), { job: job.id, attempt: job.attempt }).catch(report)
}

const refusesUsers = (): FhirError =>
  forbidden(
    'A token of a user starts no export: use a token of the client itself (client_credentials), or turn on the setting FHIR_USER_EXPORTS. Nothing was started',
  )

/** Whether the client belongs to an external issuer. Only ids of such clients contain `@`. */
const isExternal = ({ client }: FhirRequest): boolean => client.includes('@')

const refusesExternal = (): FhirError =>
  forbidden(
    'A client of another issuer starts exports only if FHIR_EXTERNAL_ISSUERS names it, or a claim of its tokens, under assertion. Its token must have neither fhirUser nor patient. Nothing was started',
  )

const needsAssertion = (): FhirError =>
  forbidden(
    'Starting an export requires an access token obtained with a signed assertion (private_key_jwt): register the client with its public keys, or turn off the setting FHIR_EXPORT_NEEDS_ASSERTION. Nothing was started',
  )

/** Error of a `$export` by a partner. Its files have no view, and no rule limits their patients. */
const needsPartnerExport = (): FhirError =>
  forbidden('A partner cannot start this export. Use Group/[id]/$davinci-data-export. Nothing was started')

/** Retry-After in seconds, if the client already runs the maximum of exports. */
const AGAIN = '60'

const tooMany = (most: number): FhirError =>
  new FhirError(
    429,
    [{ severity: 'error', code: 'throttled', text: `${most} exports of this client are running: wait for one of them, or cancel it` }],
    { 'retry-after': AGAIN },
  )
