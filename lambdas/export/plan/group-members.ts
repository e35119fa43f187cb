/**
 * Patients of an export: members of its Group as of an instant, and patients that the request names. https://hl7.org/fhir/R4/group.html,
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#query-parameters
 */
import { type Judge, maySee } from '../../access/judge.ts'
import { isWholeType } from '../../access/rules.ts'
import { parseDateRange } from '../../fhir/date-range.ts'
import { toLocalReference } from '../../fhir/references.ts'
import { isElement } from '../../fhir/resource.ts'
import { toResourceKey } from '../../ports/store/resource-key.ts'
import type { ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import { ExportFault } from '../job/export-fault.ts'
import type { Job } from '../job/job.ts'
import { resourceOf } from '../versions/version-body.ts'
import { isDamaged, type VersionAsOf, versionsAsOf } from '../versions/versions-as-of.ts'

export type ExportPatients = {
  /** Distinct references such as `Patient/1`. */
  readonly patients: readonly string[]
  /**
   * Patients among them that were not members at `_since`. All their data is exported, regardless of its time. Empty without `_since`, and for a
   * partner: each match creates a new Group, so that all members would be new.
   */
  readonly added: readonly string[]
  /** Patients that the request names and that are not members of the Group. Empty without a Group. */
  readonly outside: readonly string[]
  /** Messages about other members and patients that are not exported, for the error file. */
  readonly passedOver: readonly string[]
}

type Resources = Pick<ResourceReader, 'heads' | 'versions' | 'history'>
type PatientJob = Pick<Job, 'tenant' | 'group' | 'groupAccess' | 'asked' | 'transactionTime' | 'partner'>

/** Maximum levels of Groups below the exported Group. Deeper Groups are reported and not exported. */
const MAX_DEPTH = 4
/** Resources read at once. Each may be as large as a request body. */
const AT_ONCE = 10
/**
 * Maximum patients of a Group, and maximum Groups that it contains, itself included. A larger export fails, because each writer holds the
 * patients in memory.
 */
const [MAX_PATIENTS, MAX_GROUPS] = [1_000_000, 10_000]
/** Maximum messages of an export. A further message gives the number of the others. */
const MAX_MESSAGES = 100

/**
 * Returns the patients of the export, or undefined if it covers all patients. Throws ExportFault if the Group no longer exists, is damaged
 * or is too large.
 */
export async function findExportPatients(resources: Resources, judge: Judge, job: PatientJob): Promise<ExportPatients | undefined> {
  const { group, groupAccess = judge.access, tenant, asked, transactionTime, partner } = job
  if (group === undefined) return asked.patients.length === 0 ? undefined : namedPatientsOf(resources, judge, job)
  const reader: GroupReader = { resources, judge: { ...judge, access: groupAccess }, tenant }
  const now = await readGroups(reader, group, transactionTime)
  if (now === undefined) throw new ExportFault('The Group was deleted, or the client may not read it')
  const since = partner === undefined ? asked.since : undefined
  const before = since === undefined ? undefined : await readGroups(reader, group, since)
  const patients = asked.patients.length === 0 ? [...now.patients] : asked.patients.filter((patient) => now.patients.has(patient))
  return {
    patients,
    added: since === undefined ? [] : patients.filter((patient) => before?.patients.has(patient) !== true),
    outside: asked.patients.filter((patient) => !now.patients.has(patient)),
    passedOver: [...now.passedOver],
  }
}

/** Returns the messages about members and patients that are not exported, at most MAX_MESSAGES and the number of the others. */
export const messagesOf = ({ passedOver, outside }: Pick<ExportPatients, 'passedOver' | 'outside'>): readonly string[] =>
  bounded([...passedOver, ...outside.map((patient) => `${patient} is no member of the Group`)])

/** Resolves the patients that the request names without a Group. A hidden patient is reported exactly like an unknown one. */
async function namedPatientsOf(
  resources: Resources,
  judge: Judge,
  { tenant, asked, transactionTime }: PatientJob,
): Promise<ExportPatients> {
  const patients: string[] = []
  const unknown: string[] = []
  for (let first = 0; first < asked.patients.length; first += AT_ONCE) {
    const names = asked.patients.slice(first, first + AT_ONCE)
    const versions = await versionsAsOf(
      resources,
      names.map((name) => toResourceKey(tenant, name)),
      transactionTime,
    )
    for (const [i, name] of names.entries()) {
      const isKnown = await isVisible(judge, versions[i])
      if (isKnown) patients.push(name)
      else unknown.push(`${name} is not known`)
    }
  }
  return { patients, added: [], outside: [], passedOver: unknown }
}

/**
 * Whether the caller may see the version. A damaged Patient counts as visible only if the caller may read the whole type. Its data is then
 * exported.
 */
const isVisible = async (judge: Judge, version: VersionAsOf): Promise<boolean> => {
  if (version === undefined || version.deleted) return false
  // guard: damaged-member-needs-whole-type
  return isDamaged(version) ? isWholeType(judge.access, version.type, 'r', judge.reading) : maySee(judge, 'r', version)
}

type GroupReader = { readonly resources: Resources; readonly judge: Judge; readonly tenant: string }
type VersionEntry = readonly [name: string, version: VersionAsOf]
type Found = { readonly patients: Set<string>; readonly passedOver: Set<string> }

/**
 * Returns the members, or undefined if the Group did not exist or is hidden. Reads Groups level by level, so that each is found at its
 * lowest depth.
 */
async function readGroups(reader: GroupReader, id: string, asOf: number): Promise<Found | undefined> {
  const found: Found = { patients: new Set(), passedOver: new Set() }
  const visited = new Set([`Group/${id}`])
  let level: readonly string[] = [...visited]
  for (let depth = 0; level.length > 0; depth++) {
    const next = new Set<string>()
    for await (const [name, version] of versionsOf(reader, level, asOf)) {
      if (isDamaged(version)) throw new ExportFault(DAMAGED)
      if (version !== undefined && (await isVisible(reader.judge, version))) readMembers(reader, version, asOf, { ...found, groups: next })
      else if (depth === 0) return undefined
      else found.passedOver.add(`${name}, a member, is not known`)
      if (found.patients.size > MAX_PATIENTS) throw tooMany()
    }
    level = [...next].filter((name) => !visited.has(name))
    for (const name of level) visited.add(name)
    if (visited.size > MAX_GROUPS) throw tooMany()
    if (depth === MAX_DEPTH) {
      for (const name of level) found.passedOver.add(`${name} is nested deeper than ${MAX_DEPTH} Groups`)
      break
    }
  }
  return found
}

/** Reason of a job with a damaged Group: its members cannot be determined. */
const DAMAGED = 'What is stored of the Group, or of one in it, is damaged, so its members are unknown'

const tooMany = (): ExportFault =>
  new ExportFault(
    `The Group and those in it have more than ${MAX_PATIENTS} members, or are more than ${MAX_GROUPS} Groups: export it by parts`,
  )

async function* versionsOf({ resources, tenant }: GroupReader, names: readonly string[], asOf: number): AsyncIterable<VersionEntry> {
  for (let first = 0; first < names.length; first += AT_ONCE) {
    const batch = names.slice(first, first + AT_ONCE)
    const keys = batch.map((name) => toResourceKey(tenant, name))
    const versions = await versionsAsOf(resources, keys, asOf)
    yield* batch.map((name, i) => [name, versions[i]] as const)
  }
}

function readMembers(
  { judge }: GroupReader,
  version: ResourceVersion,
  asOf: number,
  { patients, groups, passedOver }: Found & { readonly groups: Set<string> },
): void {
  const { member } = resourceOf(version)
  const others: string[] = []
  for (const each of Array.isArray(member) ? member : []) {
    if (!isElement(each) || each.inactive === true || !covers(each.period, asOf, judge.reading.timeZone)) continue
    const reference = isElement(each.entity) ? each.entity.reference : undefined
    const name = typeof reference === 'string' ? toLocalReference(reference, judge.reading) : undefined
    if (name?.startsWith('Patient/')) patients.add(name)
    else if (name?.startsWith('Group/')) groups.add(name)
    else others.push(typeof reference === 'string' ? reference : 'no reference')
  }
  if (others.length > 0) passedOver.add(describeOtherMembers(`${version.type}/${version.id}`, others))
}

/** Maximum references in a message about other members, and maximum characters of each. */
const [MAX_REFERENCES, MAX_REFERENCE_LENGTH] = [10, 100]

function describeOtherMembers(group: string, references: readonly string[]): string {
  const distinct = [...new Set(references)]
  const shortened = distinct.slice(0, MAX_REFERENCES).map((reference) => reference.slice(0, MAX_REFERENCE_LENGTH))
  const more = distinct.length > shortened.length ? ` and ${distinct.length - shortened.length} more` : ''
  const subject =
    references.length === 1
      ? `1 member of ${group} is not exported: it is neither a Patient nor a Group`
      : `${references.length} members of ${group} are not exported: they are neither Patients nor Groups`
  return `${subject} of this server (${shortened.join(', ')}${more})`
}

/**
 * Whether the period contains the instant. The end includes the whole unit of its precision. https://hl7.org/fhir/R4/datatypes.html#Period
 */
function covers(period: unknown, instant: number, timeZone: string | undefined): boolean {
  if (!isElement(period)) return true
  const { start, end } = period
  const from = typeof start === 'string' ? parseDateRange(start, timeZone)?.low : undefined
  const to = typeof end === 'string' ? parseDateRange(end, timeZone)?.high : undefined
  return (from === undefined || from <= instant) && (to === undefined || instant < to)
}

/** Returns the distinct texts, at most `limit`. If there are more, a last text gives the number of omitted texts. */
export function bounded(texts: readonly string[], limit = MAX_MESSAGES): readonly string[] {
  const distinct = [...new Set(texts)]
  const more = distinct.length - limit
  return more <= 0 ? distinct : [...distinct.slice(0, limit), `${more} further messages are omitted`]
}
