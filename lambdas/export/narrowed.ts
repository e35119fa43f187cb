/** What an export is narrowed to, resolved once for all its writers: whose data it is of, and what its filters come to. */
import { type Predicate, some } from '../search/plan.ts'
import { shareOfFew } from './few-patients.ts'
import { resolveFilters } from './filters.ts'
import type { Job } from './job.ts'
import { judgeOf } from './judge-of.ts'
import { membersOf } from './members.ts'
import { keepPlanned, plannedOf } from './planned.ts'
import type { ExportParts } from './steps.ts'

export type Narrowed = {
  /** `Patient/1` …: whose data; absent: of all. */
  readonly patients?: ReadonlySet<string>
  /** Of these those whose data is exported whatever its time: they became members after `_since`. */
  readonly added: ReadonlySet<string>
  /** One that is not named is not narrowed. */
  readonly filters: ReadonlyMap<string, Predicate>
  /** Its patients are few: their data is looked up (candidates.ts), and nothing is scanned. */
  readonly isLookedUp: boolean
  /** What could not be done as it was asked for: of the file of errors. */
  readonly told: readonly string[]
}

/** Plain JSON. `filters`: by type; one of these holds. */
export type Resolved = {
  readonly patients?: readonly string[]
  readonly added: readonly string[]
  readonly filters: Readonly<Record<string, readonly Predicate[]>>
  /** About what part of all patients they are, where their data is looked up. */
  readonly share?: number
  readonly told: readonly string[]
}

export async function resolve(parts: ExportParts, job: Job): Promise<Resolved> {
  const judge = await judgeOf(parts, job)
  const members = await membersOf(parts.resources, judge, job)
  const share = members && (await shareOfFew(parts.resources, job, members))
  return {
    ...(members === undefined ? {} : { patients: members.patients }),
    ...(share === undefined ? {} : { share }),
    added: members?.added ?? [],
    filters: await resolveFilters(parts.index, judge.reading, job),
    told: members?.passedOver ?? [],
  }
}

/** For the plan of this id alone: one that is made again may come to something else. */
export const keepResolved = ({ blobs }: Pick<ExportParts, 'blobs'>, job: Job, plan: string, resolved: Resolved): Promise<void> =>
  keepPlanned(blobs, { job: job.id, plan }, resolved)

/** Of a job that is planned. */
export const narrowedOf = ({ blobs }: Pick<ExportParts, 'blobs'>, { id: job, plan = '' }: Job): Promise<Narrowed> =>
  plannedOf<Resolved, Narrowed>(blobs, { job, plan }, ({ patients, added, filters, share, told }) => ({
    ...(patients === undefined ? {} : { patients: new Set(patients) }),
    ...{
      told,
      isLookedUp: share !== undefined,
      added: new Set(added),
      filters: new Map(Object.entries(filters).map(([type, of]) => [type, some(...of)])),
    },
  }))
