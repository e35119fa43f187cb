/** Builds the Group of matched members. http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-member-match-group */
import { PARTNER_MARK_SYSTEM, partnerMarkOf } from '../../access/partner-mark.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import { MATCHED, MATCHED_COVERAGE, MATCHED_GROUP, MATCHED_PATIENT } from '../codes.ts'
import { mapReferences, type PartyIdentifier } from '../elements.ts'
import { referencesToPatient, replaceSentReferences } from '../sent-references.ts'

/** Member that was found. `patient`: id of the own Patient. `sent`: Patient and Coverage as the partner sent them. */
export type MatchedMember = {
  readonly patient: string
  readonly sent: { readonly patient: Resource; readonly coverage: Resource }
  /** Instant at which the permission ends, in milliseconds since 1970. */
  readonly until: number
}

/** Organization that a Group names. `name`: absent or empty: none. `identifier`: the first of its identifiers. */
export type Party = { readonly name?: string; readonly identifier: PartyIdentifier }

export type MatchedGroup = {
  readonly members: readonly MatchedMember[]
  /** Partner that asked. `id`: id of its client. */
  readonly partner: Party & { readonly id: string }
  readonly payer: Party
  /** Milliseconds since 1970. */
  readonly now: number
  readonly bases: BaseUrls
}

/**
 * Returns the Group without an id. It has one member for each sent Patient and Coverage. Members that were sent with the same id must be the
 * same Patient.
 */
export function matchedGroupOf({ members, partner, payer, now, bases }: MatchedGroup): Resource {
  const contained = new ContainedResources(members, bases)
  const code = { coding: [{ ...MATCHED, display: 'Matched' }] }
  const periodTo = (until: number): Element => ({ start: dayOf(now), end: new Date(until).toISOString() })
  const period = members.length === 0 ? { start: dayOf(now) } : periodTo(Math.max(...members.map(({ until }) => until)))
  const memberOf = (member: MatchedMember): Element => ({
    entity: { extension: contained.extensionsOf(member), reference: `Patient/${member.patient}` },
    period: periodTo(member.until),
  })
  return {
    resourceType: 'Group',
    meta: { profile: [MATCHED_GROUP] },
    ...(contained.list.length === 0 ? {} : { contained: contained.list }),
    identifier: [{ system: PARTNER_MARK_SYSTEM, value: partnerMarkOf(partner.id) }],
    active: true,
    type: 'person',
    actual: true,
    code,
    quantity: members.length,
    managingEntity: referenceTo(payer),
    characteristic: [{ code, valueReference: referenceTo(partner), exclude: false, period }],
    ...(members.length === 0 ? {} : { member: members.map(memberOf) }),
  }
}

const referenceTo = ({ name = '', identifier }: Party): Element => ({
  identifier,
  ...(name === '' ? {} : { display: name }),
})

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)

/**
 * Resources that were sent, once for each id. Patients retain their ids. A Patient without an id, and every Coverage, gets an id that no
 * other has. Coverages are contained only if one Patient was sent with several.
 */
class ContainedResources {
  readonly list: Resource[] = []
  readonly #bases: BaseUrls
  readonly #sentIds = new Set<string>()
  #last = 0
  readonly #extensions = new Map<MatchedMember, readonly Element[]>()

  constructor(members: readonly MatchedMember[], bases: BaseUrls) {
    this.#bases = bases
    for (const { sent } of members) if (sent.patient.id !== undefined) this.#sentIds.add(sent.patient.id)
    const patients = Map.groupBy(members, ({ sent }) => sent.patient.id ?? sent.patient)
    for (const [sentId, own] of patients) {
      const id = typeof sentId === 'string' ? sentId : this.#newId('patient')
      const { patient } = own[0]!.sent
      this.list.push({ ...this.#containedOf(patient, patient, id), id })
      for (const member of own) {
        const coverage = own.length > 1 ? [extensionOf(MATCHED_COVERAGE, this.#addCoverage(member, id))] : []
        this.#extensions.set(member, [extensionOf(MATCHED_PATIENT, id), ...coverage])
      }
    }
  }

  extensionsOf = (member: MatchedMember): readonly Element[] => this.#extensions.get(member)!

  #addCoverage({ sent: { patient, coverage } }: MatchedMember, patientId: string): string {
    const id = this.#newId('coverage')
    this.list.push({ ...this.#containedOf(coverage, patient, patientId), id })
    return id
  }

  #containedOf(sent: Resource, patient: Resource, patientId: string): Resource {
    const subjects = referencesToPatient(patient, sent.beneficiary)
    return replaceSentReferences(withoutForbidden(sent), subjects, { reference: `#${patientId}` }, this.#bases)
  }

  #newId(prefix: string): string {
    for (;;) {
      const id = `${prefix}-${++this.#last}`
      if (!this.#sentIds.has(id)) return id
    }
  }
}

const extensionOf = (url: string, id: string): Element => ({ url, valueReference: { reference: `#${id}` } })

/**
 * Returns the resource without the elements that R4 forbids in contained resources: three of `meta`, and contained resources. References to
 * the latter keep their other elements. https://hl7.org/fhir/R4/references.html#contained
 */
function withoutForbidden({ meta, contained, ...others }: Resource): Resource {
  const { versionId, lastUpdated, security, ...rest } = meta ?? {}
  const content = contained === undefined ? others : mapReferences(others, withoutContained)
  return { ...content, resourceType: others.resourceType, ...(Object.keys(rest).length === 0 ? {} : { meta: rest }) } as Resource
}

/** A Reference needs an element, so that one without any gets a text. */
function withoutContained(found: Element & { readonly reference: string }): Element {
  if (!found.reference.startsWith('#')) return found
  const { reference, ...others } = found
  return Object.keys(others).length > 0 ? others : { display: 'Not included' }
}
