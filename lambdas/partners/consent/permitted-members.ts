/**
 * Judges which members permit that their data goes to a partner, at a match and at each export. Between payers a member must consent. A
 * provider receives data unless the member opted out. For members that it matched, its stored attestation must still be in force.
 */
import { PARTNER_MARK_SYSTEM } from '../../access/partner-mark.ts'
import { toLocalReference } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { itemsOf, type PartyIdentifier, referenceOf } from '../elements.ts'
import type { MemberData } from '../member-data.ts'
import type { ConsentFault } from '../outcomes.ts'
import { isAmong, recipientsOf } from './actors.ts'
import { partiesOf, readAttestation } from './attestation.ts'
import { deniedProvidersOf, isDenial, isNamed, mayDeny, type Recipient } from './denials.ts'
import { findLinkedRecords } from './linked-records.ts'
import { OptOutGroups } from './opt-out-groups.ts'
import { findByPatients, findStoredPatients, patientNameOf } from './patient-lookup.ts'
import { judgePayerConsent, type SensitiveLabels } from './payer-consent.ts'

/**
 * Reason why the data of a member does not go to a partner. Only the operator learns it. `unread`: more Consents, Groups or linked records are
 * stored than are read.
 */
export type DenialReason = 'denied' | 'opted-out' | 'unread'
/** `no-patient`: the Patient was deleted, or never stored, and nothing else withholds its data. */
export type WithheldReason = DenialReason | 'no-patient' | 'no-consent' | 'consent-ended' | 'consent-not-complied-with'

/**
 * `until`: instant at which the permission ends, in milliseconds since 1970; absent: never. `excluded`: labels of data that it does not cover.
 */
type Permission = { readonly isPermitted: true; readonly until?: number; readonly excluded: readonly string[] }

/** `otherwise`: for `no-patient`, the permission that would be in force if the Patient were stored. */
export type MemberPermission =
  | Permission
  | { readonly isPermitted: false; readonly reason: WithheldReason; readonly otherwise?: Permission }

/** Permission by one Consent. `providers`: those that an attestation names; absent for other Consents. */
type Permit = { readonly permission: MemberPermission; readonly providers?: readonly PartyIdentifier[] }

/**
 * `payer`: identifiers of this payer. `now`: milliseconds since 1970. `attestedBy`: identifier value that marks the provider whose stored
 * attestations must be in force. Absent: no attestation is needed, because the payer itself lists the members, or the match judged the sent
 * one.
 */
export type PermissionContext = {
  readonly data: MemberData
  readonly recipient: Recipient
  readonly payer: readonly PartyIdentifier[]
  readonly sensitiveLabels: SensitiveLabels
  readonly now: number
  readonly attestedBy?: string
}

/** Returns the permission of each Patient. `patients`: distinct ids, at most 10,000, to limit memory. */
export type MemberJudge = (patients: readonly string[]) => Promise<ReadonlyMap<string, MemberPermission>>

/** Returns a judge for many batches. It reads each opt-out Group once, so create a new one for each match or plan. */
export function memberJudge(context: PermissionContext): MemberJudge {
  const { data, recipient, now } = context
  const groups = new OptOutGroups(data, recipient.kind, now)
  return async (patients) => {
    const judge = permitJudgeOf(context)
    // guard: payer-needs-consent-of-member
    const initial: MemberPermission = judge === undefined ? { isPermitted: true, excluded: [] } : withheld('no-consent')
    const permissions = new Map(patients.map((patient) => [patient, initial]))
    const attested: (readonly [patient: string, permit: Permit])[] = []
    const add = (patient: string, each: MemberPermission): void => void permissions.set(patient, widerOf(permissions.get(patient)!, each))
    const judgeOwn = (patient: string, consent: Resource): void => {
      const permit = judge!(consent)
      if (permit.providers === undefined) add(patient, permit.permission)
      else attested.push([patient, permit])
    }
    const denials = await readDenials(context, groups, patients, judge === undefined ? undefined : judgeOwn)
    // A denial to one provider ends the attestations of this provider only.
    for (const [patient, { permission, providers = [] }] of attested)
      add(patient, isDeniedTo(denials, patient, providers) ? withheld('denied') : permission)
    // guard: denial-outweighs-permissions
    for (const [patient, reason] of denials.reasons) permissions.set(patient, withheld(reason))
    const permitted = [...permissions].flatMap(([patient, each]) => (each.isPermitted ? [[patient, each] as const] : []))
    const stored = await findStoredPatients(
      data,
      permitted.map(([patient]) => patient),
    )
    for (const [patient, otherwise] of permitted) {
      // guard: deleted-patient-is-no-member
      if (!stored.has(patient)) permissions.set(patient, { isPermitted: false, reason: 'no-patient', otherwise })
    }
    return permissions
  }
}

/**
 * Whether a member denies that data goes to payers: by an active Consent, or as a member of an opt-out Group. One denial outweighs every
 * permission. Denials in records that are linked to the Patient count too. `patient`: id of the Patient. `now`: in milliseconds since 1970.
 */
export async function deniesPayers(data: MemberData, patient: string, now: number): Promise<boolean> {
  return (await findDenials(data, { kind: 'payer' }, [patient], now)).reasons.has(patient)
}

/** Denials by Patient. `reasons`: of denials to the partner. `named`: other providers to which alone the Patient denies its data. */
export type Denials = {
  readonly reasons: ReadonlyMap<string, DenialReason>
  readonly named: ReadonlyMap<string, readonly PartyIdentifier[]>
}

/** Whether the Patient denies its data to the partner, or to one of these providers. */
export function isDeniedTo({ reasons, named }: Denials, patient: string, providers: readonly PartyIdentifier[]): boolean {
  // guard: denial-to-treating-provider
  return reasons.has(patient) || isNamed(named.get(patient) ?? [], providers)
}

/** Returns the denials of these Patients. `patients`: distinct ids. */
export const findDenials = (data: MemberData, recipient: Recipient, patients: readonly string[], now: number): Promise<Denials> =>
  readDenials({ data, recipient, now }, new OptOutGroups(data, recipient.kind, now), patients)

/**
 * Returns the denials of the Patients. `judgeOwn`: receives each Consent of a Patient itself that is not a denial. Absent: only denials are
 * parsed.
 */
async function readDenials(
  { data, recipient, now }: Pick<PermissionContext, 'data' | 'recipient' | 'now'>,
  groups: OptOutGroups,
  patients: readonly string[],
  judgeOwn?: (patient: string, consent: Resource) => void,
): Promise<Denials> {
  const { patientsOf, unread } = await findLinkedRecords(data, patients)
  const records = [...patientsOf.keys()]
  const reasons = new Map<string, DenialReason>()
  const named = new Map<string, readonly PartyIdentifier[]>()
  const deny = (record: string, reason: DenialReason): void => patientsOf.get(record)?.forEach((each) => void reasons.set(each, reason))
  const denyTo = (record: string, providers: readonly PartyIdentifier[]): void =>
    patientsOf.get(record)?.forEach((each) => void named.set(each, [...(named.get(each) ?? []), ...providers]))
  const leaveUnread = (record: string): void => {
    // guard: unread-records-count-as-denials
    deny(record, 'unread')
  }
  for (const patient of unread) reasons.set(patient, 'unread')
  for (const record of await groups.find(records, leaveUnread)) deny(record, 'opted-out')
  const ofRecords = (ids: readonly string[]) => [['patient', ids.map(patientNameOf).join(',')]] as const
  for await (const consent of findByPatients(
    data,
    'Consent',
    records,
    ofRecords,
    leaveUnread,
    judgeOwn === undefined ? mayDeny : undefined,
  )) {
    const record = toLocalReference(referenceOf(consent.patient) ?? '', data.reading)?.slice(patientNameOf('').length)
    if (record === undefined) continue
    const { timeZone } = data.reading
    if (isDenial(consent, recipient, now, timeZone)) deny(record, 'denied')
    else {
      if (recipient.kind === 'provider') denyTo(record, deniedProvidersOf(consent, now, timeZone))
      if (patientsOf.get(record)?.includes(record)) judgeOwn?.(record, consent)
    }
  }
  return { reasons, named }
}

/** Returns the judge of stored Consents, or undefined if the partner needs no Consent. */
function permitJudgeOf(context: PermissionContext): ((consent: Resource) => Permit) | undefined {
  const { recipient, attestedBy } = context
  if (recipient.kind === 'payer') return (consent) => ({ permission: permitOf(consent, context) })
  return attestedBy === undefined ? undefined : (consent) => attestedPermitOf(consent, attestedBy, context)
}

/** Judges a stored attestation by the rules of the match. */
function attestedPermitOf(consent: Resource, attestedBy: string, { data, now }: PermissionContext): Permit {
  // A Consent may be sent with the mark of another partner. The own mark follows it.
  const mark = itemsOf(consent.identifier).findLast(({ system }) => system === PARTNER_MARK_SYSTEM)
  if (mark?.value !== attestedBy) return { permission: withheld('no-consent') }
  const { timeZone } = data.reading
  const attestation = readAttestation(consent, { now, ...(timeZone === undefined ? {} : { timeZone }) })
  // guard: stored-attestation-is-in-force
  if (attestation === undefined) return { permission: withheld('consent-ended') }
  const { until } = attestation
  return { permission: { isPermitted: true, excluded: [], ...(until === undefined ? {} : { until }) }, providers: partiesOf(attestation) }
}

/** Judges a stored Consent by the rules of the match. For a client of the payer itself it may name any recipient. */
function permitOf(consent: Resource, { data, recipient, payer, sensitiveLabels, now }: PermissionContext): MemberPermission {
  const { timeZone } = data.reading
  const recipients = recipientsOf(consent)
  const identifiers = recipient.identifiers ?? recipients
  if (!isAmong(recipients, identifiers)) return withheld('no-consent')
  const zone = timeZone === undefined ? {} : { timeZone }
  const verdict = judgePayerConsent(consent, { now, ...zone, recipient: identifiers, payer, sensitiveLabels })
  if (!verdict.isCompliedWith) return withheld(ENDS.includes(verdict.fault) ? 'consent-ended' : 'consent-not-complied-with')
  const { until, excluded } = verdict
  return { isPermitted: true, excluded, ...(until === undefined ? {} : { until }) }
}

const withheld = (reason: WithheldReason): MemberPermission => ({ isPermitted: false, reason })

const ENDS: readonly ConsentFault[] = ['status', 'period']

/** Reasons by how much they explain to the operator, the least first. */
const RANKS: readonly WithheldReason[] = ['no-consent', 'consent-not-complied-with', 'consent-ended', 'denied']

/** Returns the joint permission of two Consents of a member: all data that one of them permits, until the later end. */
function widerOf(a: MemberPermission, b: MemberPermission): MemberPermission {
  if (!a.isPermitted) return b.isPermitted || RANKS.indexOf(b.reason) > RANKS.indexOf(a.reason) ? b : a
  if (!b.isPermitted) return a
  // Every Consent that excludes labels excludes the sensitive labels of the payer.
  const excluded = a.excluded.length < b.excluded.length ? a.excluded : b.excluded
  return { isPermitted: true, excluded, ...(a.until === undefined || b.until === undefined ? {} : { until: Math.max(a.until, b.until) }) }
}
