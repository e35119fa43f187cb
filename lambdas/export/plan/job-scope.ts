/** What an export is narrowed to, resolved once for all its writers: whose data it is of, and what its filters come to. */
import { or, type Predicate } from '../../ports/search/plan.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'
import { findExportPatients } from './group-members.ts'
import { judgeOf } from './job-access.ts'
import { fieldsIn, isFieldOf } from './partial-evaluation.ts'
import { lookupShareOf } from './patient-lookup-cost.ts'
import { readPlan, storePlan } from './stored-plan.ts'
import { resolveFilters } from './type-filters.ts'

export type JobScope = {
  /** `Patient/1` …: whose data; absent: of all. */
  readonly patients?: ReadonlySet<string>
  /** Of these those whose data is exported whatever its time: they became members after `_since`. */
  readonly added: ReadonlySet<string>
  /** One that is not named is not narrowed. */
  readonly filters: ReadonlyMap<string, Predicate>
  /** Parameters somebody defined, as they were when it was planned, by which its access is judged; absent: nothing asks for any. */
  readonly custom?: readonly CustomMapping[]
  /** Of these, those its filters look at. */
  readonly ofFilters?: readonly CustomMapping[]
  /** Its patients are few: their data is looked up (collect/patient-candidates.ts), and nothing is scanned. */
  readonly isLookedUp: boolean
  /** What could not be done as it was asked for: of the file of errors. */
  readonly told: readonly string[]
}

/** Plain JSON. `filters`: by type; one of these holds. */
export type StoredJobScope = {
  readonly patients?: readonly string[]
  readonly added: readonly string[]
  readonly filters: Readonly<Record<string, readonly Predicate[]>>
  readonly custom?: readonly CustomMapping[]
  /** About what part of all patients they are, where their data is looked up. */
  readonly share?: number
  readonly told: readonly string[]
}

export async function resolveJobScope(parts: ExportParts, job: Job): Promise<StoredJobScope> {
  const judge = await judgeOf(parts, job)
  const members = await findExportPatients(parts.resources, judge, job)
  const share = members && (await lookupShareOf(parts.resources, job, members))
  return {
    ...(members === undefined ? {} : { patients: members.patients }),
    ...(share === undefined ? {} : { share }),
    added: members?.added ?? [],
    filters: await resolveFilters(parts.index, judge.reading, job),
    ...(asksForCustom(job) ? { custom: judge.reading.custom ?? [] } : {}),
    told: members?.passedOver ?? [],
  }
}

/** For the plan of this id alone: one that is made again may come to something else. */
export const storeJobScope = ({ blobs }: Pick<ExportParts, 'blobs'>, job: Job, plan: string, resolved: StoredJobScope): Promise<void> =>
  storePlan(blobs, { job: job.id, plan }, resolved)

/** Of a job that is planned. */
export const readJobScope = ({ blobs }: Pick<ExportParts, 'blobs'>, { id: job, plan = '' }: Job): Promise<JobScope> =>
  readPlan<StoredJobScope, JobScope>(blobs, { job, plan }, ({ patients, added, filters, custom, share, told }) => ({
    ...(patients === undefined ? {} : { patients: new Set(patients) }),
    ...(custom === undefined ? {} : { custom, ofFilters: customIn(filters, custom) }),
    ...{
      told,
      isLookedUp: share !== undefined,
      added: new Set(added),
      filters: new Map(Object.entries(filters).map(([type, of]) => [type, or(...of)])),
    },
  }))

/** A job is judged by one rule from its plan to its end, whoever changes a parameter meanwhile. */
const asksForCustom = ({ asked, access }: Job): boolean => asked.filters.length > 0 || access.clauses.some(({ query }) => query !== '')

function customIn(filters: StoredJobScope['filters'], custom: readonly CustomMapping[]): readonly CustomMapping[] {
  const fields = new Set(Object.values(filters).flatMap((of) => of.flatMap((each) => [...fieldsIn(each)])))
  return custom.filter(({ field }) => [...fields].some((each) => isFieldOf(each, [field])))
}
