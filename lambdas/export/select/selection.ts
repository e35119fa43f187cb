/**
 * Selects the versions that belong to an export. The input is a scan as of the transaction time, or versions resolved as of that time. A
 * deletion is checked like the version that it deletes.
 */
import { type Judge, maySee, maySeeWithLetters } from '../../access/judge.ts'
import { isWholeTenant } from '../../access/rules.ts'
import { securityContextOf } from '../../access/security-context.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isAllowed, type PartnerRules, rulesAt } from '../../partners/partner-rules.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { evaluateAhead } from '../../search/custom/batch-evaluation.ts'
import { extract } from '../../search/documents/extract.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { Job } from '../job/job.ts'
import type { PartnerExport } from '../partner-export.ts'
import type { JobLimits, JobScope } from '../plan/job-scope.ts'
import { evaluatePartially } from '../plan/partial-evaluation.ts'
import { resourceOf } from '../versions/version-body.ts'
import { isDamaged } from '../versions/versions-as-of.ts'
import { type OmissionReason, omissionReasonOf } from './omission-reason.ts'
import { isOwnedByPatients, type OwnershipContext } from './patient-ownership.ts'
import { withPermittedMembers } from './permitted-members.ts'
import { withPermittedTargets } from './permitted-targets.ts'

export type Selection = {
  readonly job: Pick<Job, 'id' | 'level' | 'group' | 'asked' | 'transactionTime' | 'tenant' | 'baseUrl' | 'partner'>
  readonly types: ReadonlySet<string>
  readonly jobScope: JobScope
  readonly judge: Judge
  readonly ownership: OwnershipContext
}

/** Reports a version that cannot be checked and is therefore not exported. */
export type LeaveOut = (version: ResourceVersion, reason: OmissionReason) => void

/**
 * Returns the versions to export, in their order: those that match type, time, patients and filters, and that the caller may read and
 * search.
 */
export async function selectVersions(
  selection: Selection,
  versions: readonly ResourceVersion[],
  leaveOut: LeaveOut,
): Promise<readonly ResourceVersion[]> {
  const requested = await passing(versions, (version) => isRequested(selection, version), leaveOut)
  const visible = await passing(requested, (version) => mayExport(selection, version), leaveOut)
  // Check this before the filters, so that no message about a filter names a resource that the partner may not receive.
  return filtered(selection, await permitted(selection, visible, leaveOut), leaveOut)
}

/**
 * Returns further versions that are exported only because an exported resource refers to them. Patients are included regardless of `_type`,
 * times and filters; other types only if they match. Access limits both. A partner gets none but the patients of the job.
 */
export async function selectReferencedVersions(
  selection: Selection,
  versions: readonly ResourceVersion[],
  exported: readonly ResourceVersion[],
  leaveOut: LeaveOut,
): Promise<readonly ResourceVersion[]> {
  const { types, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = selection.job.asked
  const isWanted = ({ type, lastUpdated }: ResourceVersion): boolean =>
    (types?.includes(type) ?? true) && lastUpdated > since && lastUpdated < until
  const rest = versions.filter((version) => !version.deleted && !exported.includes(version))
  const { jobScope, ownership } = selection
  // guard: partner-gets-no-other-patients
  const isIncluded = ({ id }: ResourceVersion): boolean => !ownership.isForPartner || jobScope.patients?.has(`Patient/${id}`) === true
  // guard: partner-gets-no-documents-of-others
  const isOfOthers = ({ type }: ResourceVersion): boolean => ownership.isForPartner === true && ownership.levelTypes.has(type)
  const included = rest.filter((version) => (version.type === 'Patient' ? isIncluded(version) : isWanted(version) && !isOfOthers(version)))
  const readable = await passing(included, (version) => mayExport(selection, version), leaveOut)
  const visible = await permitted(selection, readable, leaveOut)
  const others = new Set(
    await filtered(
      selection,
      visible.filter(({ type }) => type !== 'Patient'),
      leaveOut,
    ),
  )
  return visible.filter((version) => version.type === 'Patient' || others.has(version))
}

/**
 * Returns the versions that a partner may receive. A sensitive version must belong to a patient who permitted its disclosure. A Provenance
 * names only permitted targets, and a Group lists only permitted members.
 */
async function permitted(
  selection: Selection,
  versions: readonly ResourceVersion[],
  leaveOut: LeaveOut,
): Promise<readonly ResourceVersion[]> {
  const { job, jobScope, ownership } = selection
  const { patients = new Set() } = jobScope
  if (job.partner === undefined || jobScope.limits === undefined) return versions
  const isPermitted = permissionOf(selection, job.partner, jobScope.limits)
  const isReadable = (version: ResourceVersion) => mayExport(selection, version)
  const rules = { ownership, patients, view: job.partner.view, isReadable, isPermitted }
  const allowed = await passing(versions, isPermitted, leaveOut)
  if (!allowed.some(({ type }) => type === 'Provenance' || type === 'Group')) return allowed
  const changed = new Map<ResourceVersion, ResourceVersion>()
  const isShown = async (version: ResourceVersion): Promise<boolean> => {
    const shown =
      version.type === 'Group' ? withPermittedMembers(version, patients, ownership.bases) : await withPermittedTargets(rules, version)
    if (shown !== undefined) changed.set(version, shown)
    return shown !== undefined
  }
  const left = await passing(
    allowed,
    (version) => (version.type === 'Provenance' || version.type === 'Group' ? isShown(version) : true),
    leaveOut,
  )
  return left.map((version) => changed.get(version) ?? version)
}

/**
 * Returns a function that checks whether a partner may receive a version. A deletion passes if the partner could receive the resource at `_since`,
 * also if the Patient was deleted after that.
 */
function permissionOf(
  { job, jobScope: { patients, removed }, judge, ownership }: Selection,
  { view }: PartnerExport,
  limits: JobLimits,
): (version: ResourceVersion) => boolean | Promise<boolean> {
  const { transactionTime: now, asked } = job
  const { timeZone } = judge.reading
  const rules = { ...limits, view, now, ...(timeZone === undefined ? {} : { timeZone }) }
  /** `isGone`: the resource was deleted, so Patients that were deleted after `_since` count as patients of the export. */
  const isAllowedBy = (each: PartnerRules, version: ResourceVersion, isGone = false) => {
    const isMember = (name: string): boolean => patients?.has(name) === true || (isGone && removed?.has(name) === true)
    return isAllowed(each, version, () => isOwnedByPatients(ownership, version, (name) => isMember(name) && !limits.restricted.has(name)))
  }
  /** Whether the resource that controls a Binary, if there is one, is data of the patients that the partner may receive. */
  const isAllowedBinary = async (binary: ResourceVersion): Promise<boolean> => {
    if (!(await isAllowedBy(rules, binary))) return false
    const key = securityContextOf(binary, ownership.bases)
    if (key === undefined) return true
    const [context] = key === 'elsewhere' ? [] : await ownership.asOf([key])
    if (context === undefined || isDamaged(context) || context.deleted) return false
    // guard: partner-gets-no-binary-of-others
    return (await isOwnedByPatients(ownership, context, (name) => patients?.has(name) === true)) && isAllowedBy(rules, context)
  }
  const wasAllowed = async (deletion: ResourceVersion): Promise<boolean> => {
    const content = await ownership.before(deletion)
    // guard: deletion-of-permitted-resource
    return content !== undefined && content.body.length > 0 && isAllowedBy(rulesAt(rules, asked.since ?? now), content, true)
  }
  return (version) => {
    if (version.deleted) return wasAllowed(version)
    return version.type === 'Binary' ? isAllowedBinary(version) : isAllowedBy(rules, version)
  }
}

/**
 * Whether the resource is a Patient of the job that is exported even if nothing refers to it. False if the request omits the type, limits
 * the time or filters Patients, because each of them may exclude the Patient. Does not check the caller's access.
 */
export const isAlwaysExported = ({ types, jobScope: { patients, filters }, job: { asked } }: Selection, name: string): boolean =>
  name.startsWith('Patient/') &&
  types.has('Patient') &&
  !filters.has('Patient') &&
  asked.since === undefined &&
  asked.until === undefined &&
  (patients?.has(name) ?? true)

type Test = (version: ResourceVersion) => boolean | Promise<boolean>

/**
 * Returns the versions that pass the test. Reports those that cannot be checked to `leaveOut`. Awaits only promises: most tests use keys
 * alone and are synchronous.
 */
async function passing(versions: readonly ResourceVersion[], test: Test, leaveOut: LeaveOut): Promise<readonly ResourceVersion[]> {
  const found: ResourceVersion[] = []
  for (const version of versions)
    try {
      const holds = test(version)
      if (holds === true || (holds !== false && (await holds))) found.push(version)
    } catch (error) {
      leaveOut(version, omissionReason(error))
    }
  return found
}

function omissionReason(error: unknown): OmissionReason {
  const reason = omissionReasonOf(error)
  if (reason === undefined) throw error
  return reason
}

/** Whether type, time and patient ownership match. A version at or before `_since` matches only if its patient became a member since. */
function isRequested(selection: Selection, version: ResourceVersion): boolean | Promise<boolean> {
  const { types, jobScope, job, ownership } = selection
  const { type, lastUpdated, deleted } = version
  const { since, until } = job.asked
  if (!types.has(type) || lastUpdated > job.transactionTime || (until !== undefined && lastUpdated >= until)) return false
  if (deleted && since === undefined) return false
  const isOld = since !== undefined && lastUpdated <= since
  if (isOld) return !deleted && jobScope.added.size > 0 && isOwnedByPatients(ownership, version, (name) => jobScope.added.has(name))
  const { patients, removed } = jobScope
  // guard: deleted-patient-has-deletions-only
  const isRemoved = (name: string): boolean => deleted && removed?.has(name) === true
  const isOwner = (name: string): boolean => (patients?.has(name) ?? name.startsWith('Patient/')) || isRemoved(name)
  return job.level === 'system' || isOwnedByPatients(ownership, version, isOwner)
}

/** Whether the caller may read and search the version. A deletion is visible only to callers that could see the version before it. */
function mayExport({ judge, ownership }: Selection, version: ResourceVersion): boolean | Promise<boolean> {
  const seesAll = isWholeTenant(judge.access, 'r') && isWholeTenant(judge.access, 's')
  // Searches of a narrow access find no Binary. A partner receives one only by a reference, so reading decides.
  if (version.type === 'Binary' && ownership.isForPartner) return maySee(judge, 'r', version)
  if (!version.deleted || seesAll) return maySeeWithLetters(judge, READ_AND_FIND, version)
  return ownership.before(version).then((before = version) => maySeeWithLetters(judge, READ_AND_FIND, before))
}

/** `$export` requires both read and search access. */
const READ_AND_FIND = ['r', 's'] as const

/** Returns the versions that match the filters of their type. Filters do not apply to deletions. */
async function filtered(
  { jobScope, judge }: Selection,
  versions: readonly ResourceVersion[],
  leaveOut: LeaveOut,
): Promise<readonly ResourceVersion[]> {
  const isNarrowed = ({ type, deleted }: ResourceVersion) => !deleted && jobScope.filters.has(type)
  if (!versions.some(isNarrowed)) return versions
  const { filterParameters: custom = judge.reading.custom } = jobScope
  const reading = custom === undefined ? judge.reading : { ...judge.reading, custom }
  const resources = new Map<ResourceVersion, Resource>()
  const readable = await passing(
    versions,
    (version) => !isNarrowed(version) || resources.set(version, resourceOf(version)).size > 0,
    leaveOut,
  )
  if (custom !== undefined) await evaluateAhead([...resources.values()], reading, judge.expressions())
  return readable.filter((version) => {
    const resource = resources.get(version)
    const holds = resource === undefined || holdsOn(jobScope.filters.get(version.type)!, version, resource, reading)
    // guard: undecided-resource-is-reported
    if (holds === undefined) leaveOut(version, 'undecided')
    return holds === true
  })
}

/**
 * Returns whether the filter holds, or undefined if a parameter that decides it fails on the resource. A search would not find that
 * resource.
 */
function holdsOn(filter: Predicate, version: ResourceVersion, resource: Resource, reading: SearchContext): boolean | undefined {
  const failed = new Set<string>()
  const document = extract(version, resource, reading, (code) => failed.add(code))
  const unknown = (reading.custom ?? []).filter(({ base, code }) => base === version.type && failed.has(code))
  return evaluatePartially(
    filter,
    document,
    unknown.map(({ field }) => field),
  )
}
