/** Job scope: patients and filters of an export, resolved once for all its writers. */
import { or, type Predicate } from '../../ports/search/plan.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { Job } from '../job/job.ts'
import { exportWindowOf, type PartnerExport } from '../partner-export.ts'
import type { ExportParts } from '../step-types.ts'
import { findExportPatients, messagesOf } from './group-members.ts'
import { judgeOf } from './job-access.ts'
import { fieldsIn, isFieldOf } from './partial-evaluation.ts'
import { lookupShareOf } from './patient-lookup-cost.ts'
import { type PermittedPatients, permittedPatientsOf, type WithheldPatient } from './permitted-patients.ts'
import { readPlan, storePlan } from './stored-plan.ts'
import { filterReadingOf, resolveFilters } from './type-filters.ts'

export type JobScope = {
  /** References of the exported patients, such as `Patient/1`. Absent: all patients. */
  readonly patients?: ReadonlySet<string>
  /** Patients among them that became members after `_since`. Their data is exported regardless of its time. */
  readonly added: ReadonlySet<string>
  /** Patients that were deleted after `_since`, in an export for a partner. Only deletions of their data are exported. Absent: none. */
  readonly removed?: ReadonlySet<string>
  /** Filter by type. A type without an entry is not filtered. */
  readonly filters: ReadonlyMap<string, Predicate>
  /** Custom parameters at planning time. Access rules and filters use this state. Absent: neither needs custom parameters. */
  readonly custom?: readonly CustomMapping[]
  /** Custom parameters among them that the filters use. */
  readonly filterParameters?: readonly CustomMapping[]
  /** Whether the data of the patients is looked up (collect/patient-candidates.ts) instead of scanned, because they are few. */
  readonly isLookedUp: boolean
  /** Limits of an export for a partner. Absent: the job is a `$export`. */
  readonly limits?: JobLimits
  /** Messages about parts of the request that the export does not fulfil, for the error file. */
  readonly told: readonly string[]
}

/**
 * Limits of an export for a partner, as of its plan. `windowStart`: instant of the oldest resources; absent: there is no time window. `restricted`:
 * patients whose permission does not cover the labels `excluded`.
 */
export type JobLimits = {
  readonly windowStart?: number
  readonly restricted: ReadonlySet<string>
  readonly excluded: ReadonlySet<string>
}

type StoredJobLimits = Omit<JobLimits, 'restricted' | 'excluded'> & {
  readonly restricted: readonly string[]
  readonly excluded: readonly string[]
}

/** Stored form of the job scope: plain JSON. `filters`: by type; a resource must match one of them. */
export type StoredJobScope = {
  readonly patients?: readonly string[]
  readonly added: readonly string[]
  readonly removed?: readonly string[]
  readonly filters: Readonly<Record<string, readonly Predicate[]>>
  readonly custom?: readonly CustomMapping[]
  /**
   * Estimated share of the store's patients that the export covers, from 0 to 1. Absent: the store is scanned, and no patient is looked up.
   */
  readonly share?: number
  readonly limits?: StoredJobLimits
  readonly told: readonly string[]
}

/** Job scope, and the patients that an export for a partner omits. */
export type ResolvedJobScope = { readonly scope: StoredJobScope; readonly withheld?: readonly WithheldPatient[] }

export async function resolveJobScope(parts: ExportParts, job: Job): Promise<ResolvedJobScope> {
  const judge = await judgeOf(parts, job)
  const found = await findExportPatients(parts.resources, judge, job)
  const { partner } = job
  const permitted = partner && found && (await permittedPatientsOf(parts, { ...job, partner }, found))
  const members = permitted ?? found
  const share = members && (await lookupShareOf(parts.resources, job, members))
  const scope: StoredJobScope = {
    ...(members === undefined ? {} : { patients: members.patients }),
    ...(share === undefined ? {} : { share }),
    added: members?.added ?? [],
    ...(permitted === undefined || permitted.removed.length === 0 ? {} : { removed: permitted.removed }),
    filters: await resolveFilters(parts.index, filterReadingOf(judge.reading, job), job),
    ...(needsCustom(job) ? { custom: judge.reading.custom ?? [] } : {}),
    ...(partner === undefined || permitted === undefined ? {} : { limits: limitsOf(parts, { ...job, partner }, permitted, judge.reading) }),
    told: members === undefined ? [] : [...messagesOf(members), ...(permitted?.messages ?? [])],
  }
  return { scope, ...(permitted === undefined ? {} : { withheld: permitted.withheld }) }
}

function limitsOf(
  { partners }: ExportParts,
  { partner, transactionTime }: Job & { readonly partner: PartnerExport },
  { restricted, excluded }: PermittedPatients,
  { timeZone }: SearchContext,
): StoredJobLimits {
  const windowStart = exportWindowOf(partner, partners, transactionTime, timeZone)
  return { restricted, excluded, ...(windowStart === undefined ? {} : { windowStart }) }
}

/** Stores the scope under the id of the plan. Another plan of the same job may have another scope. */
export const storeJobScope = ({ blobs }: Pick<ExportParts, 'blobs'>, job: Job, plan: string, resolved: StoredJobScope): Promise<void> =>
  storePlan(blobs, { job: job.id, plan }, resolved)

/** Reads the stored plan of a job: its patients, filters and custom parameters. Throws Error if the plan is not stored. */
export const readJobScope = ({ blobs }: Pick<ExportParts, 'blobs'>, { id: job, plan = '' }: Job): Promise<JobScope> =>
  readPlan<StoredJobScope, JobScope>(blobs, { job, plan }, ({ patients, added, removed, filters, custom, share, limits, told }) => ({
    ...(patients === undefined ? {} : { patients: new Set(patients) }),
    ...(removed === undefined ? {} : { removed: new Set(removed) }),
    ...(custom === undefined ? {} : { custom, filterParameters: customIn(filters, custom) }),
    ...(limits === undefined ? {} : { limits: { ...limits, restricted: new Set(limits.restricted), excluded: new Set(limits.excluded) } }),
    ...{
      told,
      isLookedUp: share !== undefined,
      added: new Set(added),
      filters: new Map(Object.entries(filters).map(([type, predicates]) => [type, or(...predicates)])),
    },
  }))

/**
 * Whether filters or access may use custom parameters. The plan stores these, so that later changes of a parameter do not affect a running
 * job.
 */
const needsCustom = ({ asked, access }: Job): boolean => asked.filters.length > 0 || access.clauses.some(({ query }) => query !== '')

function customIn(filters: StoredJobScope['filters'], custom: readonly CustomMapping[]): readonly CustomMapping[] {
  const fields = new Set(Object.values(filters).flatMap((predicates) => predicates.flatMap((each) => [...fieldsIn(each)])))
  return custom.filter(({ field }) => [...fields].some((each) => isFieldOf(each, [field])))
}
