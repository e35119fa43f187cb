/** Patients of an export for a partner: those whose permission is in force at the kick-off. */
import { memberJudge, type WithheldReason } from '../../partners/consent/permitted-members.ts'
import { markOfGroup } from '../../partners/groups/group-mark.ts'
import { toResourceKey } from '../../ports/store/resource-key.ts'
import { ExportFault } from '../job/export-fault.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'
import { storedMembersOf } from '../stored-members.ts'
import { resourceOf } from '../versions/version-body.ts'
import { isDamaged, versionsAsOf } from '../versions/versions-as-of.ts'
import { bounded, type ExportPatients } from './group-members.ts'
import { readPlan, storePlan } from './stored-plan.ts'

/** Patient that is not exported, with the reason. Only the operator learns the reason. */
export type WithheldPatient = { readonly patient: string; readonly reason: WithheldReason }

/**
 * `outside`: for a provider, also the withheld members that the request names. `removed`: members whose Patient was deleted after `_since`, with a
 * permission that is still in force. `restricted`: patients whose permission does not cover the labels `excluded`, which are `system|code` of
 * `meta.security`.
 */
export type PermittedPatients = ExportPatients & {
  readonly withheld: readonly WithheldPatient[]
  /** Messages about the withheld members for the error file. Empty for a provider. */
  readonly messages: readonly string[]
  readonly removed: readonly string[]
  readonly restricted: readonly string[]
  readonly excluded: readonly string[]
}

type Parts = Pick<ExportParts, 'resources' | 'index' | 'readingOf' | 'partners'>
type PartnerJob = Pick<Job, 'tenant' | 'transactionTime' | 'group' | 'asked'> & { readonly partner: NonNullable<Job['partner']> }

/** Maximum patients that are judged at once. */
const EACH = 10_000
/** Maximum messages about patients that are not exported. */
const MAX_MESSAGES = 10_000
/** Maximum Patients that are read at once. */
const READ_AT_ONCE = 50

/**
 * Returns the members that permit the export. Reads Consents and opt-out Groups at the time of the plan, which begins when all commits
 * before the kick-off are visible. A payer learns which members are omitted. A provider does not, because an opt-out is confidential. If a provider
 * names one of them, it gets the same message as for a stranger. Throws ExportFault if the Group was deleted or is damaged.
 */
export async function permittedPatientsOf(parts: Parts, job: PartnerJob, members: ExportPatients): Promise<PermittedPatients> {
  const { tenant, transactionTime: now, partner } = job
  const { partners } = parts
  const { view: kind, identifiers } = partner
  const data = await storedMembersOf(parts, tenant)
  const recipient = { kind, ...(identifiers === undefined ? {} : { identifiers }) }
  const attestedBy = kind === 'provider' ? await markOf(parts, job) : undefined
  const judge = memberJudge({
    ...{ data, recipient, now, payer: partners.payer, sensitiveLabels: partners.sensitiveLabels },
    ...(attestedBy === undefined ? {} : { attestedBy }),
  })
  const permitted: string[] = []
  const withheld: WithheldPatient[] = []
  const restricted: string[] = []
  const withoutPatient: string[] = []
  let excluded: readonly string[] = []
  for (let first = 0; first < members.patients.length; first += EACH) {
    const ids = members.patients.slice(first, first + EACH).map((name) => name.slice(PATIENT.length))
    for (const [id, permission] of await judge(ids)) {
      const patient = PATIENT + id
      // guard: export-needs-permission-of-member
      if (permission.isPermitted) permitted.push(patient)
      else withheld.push({ patient, reason: permission.reason })
      const inForce = permission.isPermitted ? permission : permission.otherwise
      if (!permission.isPermitted && inForce !== undefined) withoutPatient.push(patient)
      if (inForce === undefined || inForce.excluded.length === 0) continue
      restricted.push(patient)
      excluded = inForce.excluded
    }
  }
  const removed = await storedAt(parts.resources, tenant, withoutPatient, job.asked.since)
  const messages = kind === 'payer' ? withheld.map(({ patient }) => `${patient} is not exported`) : []
  const isPermitted = new Set(permitted)
  // guard: withheld-member-looks-like-a-stranger
  const outside = kind === 'provider' ? job.asked.patients.filter((patient) => !isPermitted.has(patient)) : members.outside
  return { ...members, patients: permitted, outside, messages: bounded(messages, MAX_MESSAGES), withheld, removed, restricted, excluded }
}

const PATIENT = 'Patient/'

/**
 * Returns those of the Patients that were stored at the instant, in ms since 1970, because a partner may have received them. Returns none without an
 * instant.
 */
async function storedAt(
  resources: Parts['resources'],
  tenant: string,
  patients: readonly string[],
  instant: number | undefined,
): Promise<readonly string[]> {
  const stored: string[] = []
  if (instant === undefined) return stored
  for (let first = 0; first < patients.length; first += READ_AT_ONCE) {
    const names = patients.slice(first, first + READ_AT_ONCE)
    const keys = names.map((name) => toResourceKey(tenant, name))
    const versions = await versionsAsOf(resources, keys, instant)
    stored.push(...names.filter((_, i) => versions[i]?.deleted === false))
  }
  return stored
}

/** Returns the identifier value that marks the matching partner in the Group, or undefined for a Group that the payer wrote. */
async function markOf({ resources }: Parts, { tenant, group, transactionTime }: PartnerJob): Promise<string | undefined> {
  if (group === undefined) return undefined
  const [version] = await versionsAsOf(resources, [{ tenant, type: 'Group', id: group }], transactionTime)
  if (version === undefined || version.deleted || isDamaged(version)) throw new ExportFault('The Group was deleted or is damaged')
  return markOfGroup(resourceOf(version))
}

/** Stores the omitted patients, for the record of disclosures. */
export const storeWithheldPatients = (
  { blobs }: Pick<ExportParts, 'blobs'>,
  job: string,
  plan: string,
  withheld: readonly WithheldPatient[],
): Promise<void> => storePlan(blobs, { job, plan: nameOf(plan) }, withheld)

/** Returns the patients that a planned export for a partner omits. Throws Error if the job is not planned. */
export const readWithheldPatients = (
  { blobs }: Pick<ExportParts, 'blobs'>,
  { id: job, plan = '' }: Pick<Job, 'id' | 'plan'>,
): Promise<readonly WithheldPatient[]> =>
  readPlan<readonly WithheldPatient[], readonly WithheldPatient[]>(blobs, { job, plan: nameOf(plan) }, (each) => each)

const nameOf = (plan: string): string => `${plan}-withheld`
