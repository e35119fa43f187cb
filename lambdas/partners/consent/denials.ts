/** Finds the denials that a payer stores for a member. */
import { toLocalReference } from '../../fhir/references.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { CONSENT_PURPOSES, OPT_OUT_GROUP, OPT_OUT_SCOPES } from '../codes.ts'
import { codesOf, covers, itemsOf, referenceOf } from '../elements.ts'
import { findCurrent, MAX_LINKS, type MemberData } from '../member-data.ts'

/** Maximum active Consents of a member, and maximum opt-out Groups of a member. A member with more counts as denying. */
const MAX_CONSENTS = 500
const MAX_GROUPS = 50
/** Maximum records with links to a Patient. A member with more counts as denying. */
const MAX_FORMER = 50

/** Scopes of opt-out Groups that concern no other payer. */
const SCOPES_OF_PROVIDERS: readonly string[] = ['provider-specific', 'provider-category']

/**
 * Whether the member denies that data goes to other payers: by an active Consent, or as a member of an opt-out Group. One denial outweighs
 * every permission. Denials in records that the Patient replaced count too. `patient`: id of the Patient. `now`: in milliseconds since 1970.
 */
export async function deniesPayers(data: MemberData, patient: string, now: number): Promise<boolean> {
  const former = await formerIdsOf(data, patient)
  // guard: unread-former-records-count-as-denials
  if (former === undefined) return true
  const ids = [patient, ...former]
  const reference = ids.map((id) => `Patient/${id}`).join(',')
  const ofMember: ParameterPairs = [
    ['patient', reference],
    ['status', 'active'],
  ]
  const withMember: ParameterPairs = [
    ['member', reference],
    ['_profile', OPT_OUT_GROUP],
  ]
  const [consents, groups] = await Promise.all([
    findCurrent(data, 'Consent', ofMember, MAX_CONSENTS),
    findCurrent(data, 'Group', withMember, MAX_GROUPS),
  ])
  // guard: unread-consents-count-as-denials
  if (consents.more || groups.more) return true
  const { timeZone } = data.reading
  const isNow = (period: unknown): boolean => covers(period, now, timeZone)
  return (
    consents.resources.some((consent) => isDenialToPayers(consent, isNow)) ||
    groups.resources.some((group) => isOptOutOfPayers(group, isNow) && ids.some((id) => isMemberOf(group, id, data, isNow)))
  )
}

/**
 * Returns the ids of the records that lead to this one by `replaced-by`, in as many steps as a match follows, or undefined if they are more than
 * are read.
 */
async function formerIdsOf(data: MemberData, patient: string): Promise<readonly string[] | undefined> {
  const found = new Set<string>()
  let next = [patient]
  for (let links = 0; next.length > 0 && links < MAX_LINKS; links++) {
    const names = next.map((id) => `Patient/${id}`)
    const { resources, more } = await findCurrent(data, 'Patient', [['link', names.join(',')]], MAX_FORMER)
    if (more) return undefined
    const isFormer = ({ link }: Resource): boolean =>
      itemsOf(link).some(
        ({ type, other }) => type === 'replaced-by' && names.includes(toLocalReference(referenceOf(other) ?? '', data.reading) ?? ''),
      )
    next = resources.filter(isFormer).flatMap(({ id }) => (id === undefined || id === patient || found.has(id) ? [] : [id]))
    for (const id of next) found.add(id)
  }
  return [...found]
}

type IsNow = (period: unknown) => boolean

function isDenialToPayers({ status, category, provision }: Resource, isNow: IsNow): boolean {
  const { type, period } = (provision ?? {}) as Element
  if (status !== 'active' || type !== 'deny' || !isNow(period)) return false
  const purposes = itemsOf(category).flatMap((each) => codesOf(each, CONSENT_PURPOSES))
  return purposes.length === 0 || purposes.includes('payer-to-payer')
}

/** Whether the Group is in force and one of its scopes concerns payers. A Group without a scope concerns all. */
function isOptOutOfPayers({ active, characteristic }: Resource, isNow: IsNow): boolean {
  if (active === false) return false
  const scoped = itemsOf(characteristic).flatMap(({ valueCodeableConcept, period }) =>
    codesOf(valueCodeableConcept, OPT_OUT_SCOPES).map((scope) => ({ scope, period })),
  )
  return scoped.length === 0 || scoped.some(({ scope, period }) => !SCOPES_OF_PROVIDERS.includes(scope) && isNow(period))
}

const isMemberOf = ({ member }: Resource, patient: string, { reading }: MemberData, isNow: IsNow): boolean =>
  itemsOf(member).some(
    ({ entity, inactive, period }) =>
      inactive !== true && isNow(period) && toLocalReference(referenceOf(entity) ?? '', reading) === `Patient/${patient}`,
  )
