/**
 * Member in context of a partner's token. A Group of the partner in force must contain the member, and the member must permit it by the
 * rules of an export. http://hl7.org/fhir/us/davinci-pdex/
 */
import { ownGroupsOf } from '../../access/partner-access.ts'
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import { toLocalReference } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Partner } from '../../ports/rows/clients.ts'
import type { SensitiveLabels } from '../consent/payer-consent.ts'
import { memberJudge } from '../consent/permitted-members.ts'
import { covers, endOf, itemsOf, referenceOf } from '../elements.ts'
import { markOfGroup } from '../groups/group-mark.ts'
import { groupEndOf, isGroupInForce } from '../groups/group-period.ts'
import { storedGroupOf } from '../groups/stored-group.ts'
import { escapeValue, findMatches, type MemberData, readBodies } from '../member-data.ts'

/** `data`: data of the tenant. `client`: id of the partner's client. `payer`: identifiers of this payer. `now`: milliseconds since 1970. */
export type MemberContextRequest = {
  readonly data: MemberData
  readonly client: string
  readonly partner: Partner
  readonly payer: readonly IdentifierText[]
  readonly sensitiveLabels: SensitiveLabels
  readonly now: number
}

/**
 * `patient`: id. `group`: id of the Group that contains it. `until`: in milliseconds since 1970. `excluded`: labels of data that the Consent
 * does not permit.
 */
export type FoundMember = {
  readonly patient: string
  readonly group: string
  readonly until: number
  readonly excluded: readonly string[]
}

/** Minimum time for which a permission must last, in milliseconds, because tokens expire at full seconds. */
const SHORTEST = 1_000

/**
 * Returns the member, or undefined if the partner may not receive its data at this time. For a stranger it executes the same searches as
 * for a member that the partner did not match, so that the response time reveals neither. `name`: `Patient/1`, or an identifier as
 * `system|value`.
 */
export async function findMemberOf(request: MemberContextRequest, name: string): Promise<FoundMember | undefined> {
  const { data, partner, now, payer, sensitiveLabels } = request
  const id = (await patientNamed(data, name)) ?? NO_PATIENT
  const membership = await findMembership(request, id)
  // guard: member-in-context-was-matched
  if (membership === undefined) return undefined
  const { until: matchedUntil, group, ...attested } = membership
  const judge = memberJudge({ ...{ data, now, payer, sensitiveLabels }, recipient: partner, ...attested })
  const permission = (await judge([id])).get(id)
  // guard: member-in-context-permits
  if (!permission?.isPermitted) return undefined
  const until = Math.min(matchedUntil, permission.until ?? Number.POSITIVE_INFINITY)
  return until < now + SHORTEST ? undefined : { patient: id, group, until, excluded: permission.excluded }
}

const PATIENT = 'Patient/'
/** Id of no Patient: ids contain no underscore. */
const NO_PATIENT = '_'

/** Returns the id of the Patient, or undefined unless exactly one Patient has the identifier. */
async function patientNamed(data: MemberData, name: string): Promise<string | undefined> {
  if (name.startsWith(PATIENT)) return name.slice(PATIENT.length)
  const bar = name.indexOf('|')
  const [system, value] = [name.slice(0, bar), name.slice(bar + 1)]
  const { ids, more } = await findMatches(data, 'Patient', [['identifier', `${escapeValue(system)}|${escapeValue(value)}`]], 2)
  return ids.length === 1 && !more ? ids[0] : undefined
}

/** Maximum Groups that are searched, and Groups that are read at once, because a Group may name thousands of members. */
const [MAX_GROUPS, AT_ONCE] = [1_000, 5]

/**
 * Membership in a Group. `group`: its id. `until`: its end in milliseconds since 1970. `attestedBy`: mark of the provider that must have an
 * attestation in force; absent: none is needed.
 */
type Membership = { readonly group: string; readonly until: number; readonly attestedBy?: string }

/**
 * Returns a membership in a Group of the partner, or undefined if no Group is in force. A membership without an attestation comes before one
 * that needs it.
 */
async function findMembership({ data, client, partner, now }: MemberContextRequest, patient: string): Promise<Membership | undefined> {
  const own = [...new URLSearchParams(ownGroupsOf(partner, client))]
  const { ids } = await findMatches(data, 'Group', [...own, ['member', PATIENT + patient]], MAX_GROUPS)
  let attested: Membership | undefined
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    const groups = await readGroups(data, ids.slice(first, first + AT_ONCE))
    const memberships = groups.flatMap((group): readonly Membership[] => {
      const until = Math.max(...endsIn(data, group, patient, now))
      if (until === Number.NEGATIVE_INFINITY) return []
      const attestedBy = partner.kind === 'provider' ? markOfGroup(group) : undefined
      return [{ group: group.id!, until, ...(attestedBy === undefined ? {} : { attestedBy }) }]
    })
    const others = longestOf(memberships.filter(({ attestedBy }) => attestedBy === undefined))
    if (others !== undefined) return others
    attested = longestOf([...memberships, ...(attested === undefined ? [] : [attested])])
  }
  return attested
}

async function readGroups(data: MemberData, ids: readonly string[]): Promise<readonly Resource[]> {
  const groups: Resource[] = []
  for (const body of await readBodies(data, 'Group', ids)) if (body !== undefined) groups.push(await storedGroupOf(body, data.pause))
  return groups
}

const longestOf = (memberships: readonly Membership[]): Membership | undefined => memberships.toSorted((a, b) => b.until - a.until)[0]

/** Returns the ends of the memberships of a Patient in a Group. Returns none if the Group or the membership is not in force. */
function endsIn({ reading }: MemberData, group: Resource, patient: string, now: number): readonly number[] {
  const { timeZone } = reading
  // guard: group-of-member-in-context-is-in-force
  if (!isGroupInForce(group, now, timeZone)) return []
  const groupEnd = groupEndOf(group, timeZone)
  return itemsOf(group.member).flatMap(({ entity, inactive, period }) => {
    const isMember = toLocalReference(referenceOf(entity) ?? '', reading) === PATIENT + patient
    if (!isMember || inactive === true || !covers(period, now, timeZone)) return []
    return [Math.min(endOf(period, timeZone) ?? Number.POSITIVE_INFINITY, groupEnd > now ? groupEnd : Number.POSITIVE_INFINITY)]
  })
}
