/** List of export jobs: those of the caller, or all jobs of the tenant for an administrator. */
import { JOB_ROWS, type Job } from '../../export/job/job.ts'
import { readJob } from '../../export/job/job-transitions.ts'
import { progressOf } from '../../export/job/progress.ts'
import { scheduleOf } from '../../export/schedules/schedules.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import { toInstant } from '../../fhir/version.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { parsePageSize } from '../../search/query/page-size.ts'
import { checkSingleValued } from '../../search/query/parameter-pairs.ts'
import type { FhirRequest, Interaction, Ports } from '../interaction.ts'
import { limitConcurrency, yieldIfDue } from '../time-slices.ts'
import { isExpired, isOwnJob } from './caller-job.ts'
import type { ExportPorts } from './ports.ts'
import { patienceFor } from './status.ts'

type ListPorts = Pick<Ports, 'clock' | 'choices'> & { readonly exports: Pick<ExportPorts, 'rows'> }

/** Maximum jobs of a response. A higher `_count` has the same effect. */
const MOST = 100
/** Maximum stored jobs of all tenants. Above it the list is answered 422, because rows are not sorted by time and a part would mislead. */
const MOST_ROWS = 20_000
/** Maximum characters of the URL of a kick-off. A longer URL is listed without its query. */
const LONGEST_URL = 2_000
const KNOWN: ReadonlySet<string> = new Set(['_count', 'state'])
/** Parameters that every interaction accepts. https://hl7.org/fhir/R4/http.html#parameters */
const GENERAL: ReadonlySet<string> = new Set(['_format', '_pretty', '_summary', '_elements'])
const STATES: readonly string[] = ['in-progress', 'complete', 'error'] satisfies readonly Job['state'][]

/** Job without the members of unlimited size, so that many fit into memory. */
type ListedJob = Omit<Job, 'asked' | 'files' | 'groupAccess'>
type Asked = { readonly count: number; readonly state: string | undefined }

/**
 * `GET [base]/export`: returns Parameters with one `export` per job, the newest first. `_count` limits them, `state` selects those of one
 * state. Retry-After is that of the youngest running job. A listed job of another caller has no `_typeFilter` in its URL, because filters
 * may name patients.
 */
export const listExports =
  ({ clock, choices, exports: { rows } }: ListPorts): Interaction =>
  async (request) => {
    const asked = parametersOf(request)
    const now = clock.now()
    const isListed = (job: Job): boolean => {
      // guard: export-list-of-own-tenant
      if (job.tenant !== request.tenant) return false
      // guard: export-list-of-own-jobs
      if (!request.access.isAdministrator && !isOwnJob(job, request)) return false
      return (asked.state === undefined || job.state === asked.state) && !isExpired(job, now, choices)
    }
    const jobs = await newestJobs(rows, isListed, asked.count)
    const inTurn = limitConcurrency(8)
    const listed = await Promise.all(jobs.map((job) => inTurn(() => partsOf(rows, job, request))))
    const parameter = listed.filter((part) => part.length > 0).map((part) => ({ name: 'export', part }))
    const youngest = jobs.find(({ state }) => state === 'in-progress')
    return {
      status: 200,
      ...(youngest === undefined ? {} : { headers: { 'retry-after': String(patienceFor(now - youngest.transactionTime)) } }),
      body: { resourceType: 'Parameters', ...(parameter.length === 0 ? {} : { parameter }) },
    }
  }

function parametersOf({ parameters }: FhirRequest): Asked {
  const unknown = parameters.find(([name]) => !KNOWN.has(name) && !GENERAL.has(name))
  if (unknown !== undefined)
    throw fhirError(400, 'not-supported', `${unknown[0].slice(0, 64)} is not a parameter of the list of exports: ${[...KNOWN].join(', ')}`)
  checkSingleValued(parameters, KNOWN)
  const { _count, state } = Object.fromEntries(parameters)
  if (state !== undefined && !STATES.includes(state)) throw fhirError(400, 'value', `The value of state is one of ${STATES.join(', ')}`)
  return { count: Math.min(MOST, parsePageSize(_count)), state }
}

async function newestJobs(rows: Rows, isListed: (job: Job) => boolean, count: number): Promise<readonly ListedJob[]> {
  let newest: ListedJob[] = []
  let looked = 0
  for await (const { value } of rows.list<Job>(JOB_ROWS)) {
    if (++looked > MOST_ROWS) throw tooManyJobs()
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    if (!isListed(value)) continue
    const { asked: _asked, files: _files, groupAccess: _groupAccess, ...job } = value
    newest.push(job)
    if (newest.length > 2 * MOST) newest = firstOf(newest, count)
  }
  return firstOf(newest, count)
}

const firstOf = (jobs: readonly ListedJob[], count: number): ListedJob[] =>
  jobs.toSorted((a, b) => b.transactionTime - a.transactionTime || (a.id < b.id ? -1 : 1)).slice(0, count)

type Part = { readonly name: string } & Readonly<Record<string, unknown>>

/** Returns the parts of the job, or none if it was stopped meanwhile. */
async function partsOf(rows: Rows, listed: ListedJob, request: FhirRequest): Promise<readonly Part[]> {
  const isOwn = isOwnJob(listed, request)
  if (listed.state !== 'in-progress') return describe(listed, isOwn)
  const progress = await progressOf(rows, isOwn ? listed : { ...listed, access: request.access })
  // Read the job again: if it ended meanwhile its progress rows are gone, and the progress would seem to fall.
  const job = await readJob(rows, listed.id)
  if (job === undefined || job.state === 'stopped') return []
  return job.state === 'in-progress' ? [...describe(job, isOwn), { name: 'progress', valueString: progress }] : describe(job, isOwn)
}

function describe({ id, client, state, transactionTime, ended, reason, request, baseUrl }: ListedJob, isOwn: boolean): readonly Part[] {
  const schedule = scheduleOf(id)
  return [
    { name: 'id', valueId: id },
    { name: 'state', valueCode: state },
    { name: 'start', valueInstant: toInstant(transactionTime) },
    ...(ended === undefined ? [] : [{ name: 'end', valueInstant: toInstant(ended) }]),
    ...(reason === undefined ? [] : [{ name: 'reason', valueString: reason }]),
    { name: 'request', valueUrl: shownUrlOf(request, baseUrl, isOwn) },
    { name: 'client', valueString: client },
    { name: 'own', valueBoolean: isOwn },
    ...(schedule === undefined ? [] : [{ name: 'schedule', valueString: schedule }]),
  ]
}

const SHOWN: ReadonlySet<string> = new Set(['_type', '_since', '_until', '_elements', '_outputFormat'])

/** Returns the URL of the kick-off with the parameters of an export only. A lenient kick-off may have any others, such as a token. */
function shownUrlOf(url: string, baseUrl: string, isOwn: boolean): string {
  const [path = baseUrl, query = ''] = url.split(/\?(.*)/s, 2)
  const isShown = (pair: string): boolean => {
    const name = new URLSearchParams(pair).keys().next().value ?? ''
    return SHOWN.has(name) || (isOwn && name === '_typeFilter')
  }
  const shown = query.split('&').filter(isShown).join('&')
  return shown === '' || shown.length > LONGEST_URL ? path : `${path}?${shown}`
}

const tooManyJobs = (): FhirError =>
  fhirError(422, 'too-costly', `More than ${MOST_ROWS} exports are stored: request the status of each by its link`)
