/** Resources that a partner sent, as a Group contains them. https://hl7.org/fhir/R4/references.html#contained */
import type { BaseUrls } from '../../fhir/references.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import { MATCHED_COVERAGE, MATCHED_PATIENT } from '../codes.ts'
import { mapReferences } from '../elements.ts'
import { referencesToPatient, replaceSentReferences } from '../sent-references.ts'

/** Patient and Coverage as the partner sent them. */
export type SentPair = { readonly patient: Resource; readonly coverage: Resource }

/** Member of a Group, which contains the sent Patient. */
export type SentMember = { readonly sent: SentPair }

/**
 * Resources that were sent, once for each id. Patients retain their ids. A Patient without an id, and every Coverage, gets an id that no
 * other has. Coverages are contained only if one Patient was sent with several.
 */
export class ContainedResources {
  readonly list: Resource[] = []
  readonly #bases: BaseUrls
  readonly #sentIds = new Set<string>()
  #last = 0
  readonly #members = new Map<SentMember, { readonly patient: string; readonly extensions: readonly Element[] }>()

  constructor(members: readonly SentMember[], bases: BaseUrls) {
    this.#bases = bases
    for (const { sent } of members) if (sent.patient.id !== undefined) this.#sentIds.add(sent.patient.id)
    const patients = Map.groupBy(members, ({ sent }) => sent.patient.id ?? sent.patient)
    for (const [sentId, own] of patients) {
      const id = typeof sentId === 'string' ? sentId : this.#newId('patient')
      const { patient } = own[0]!.sent
      this.list.push({ ...this.#containedOf(patient, patient, id), id })
      for (const member of own) {
        const coverage = own.length > 1 ? [extensionOf(MATCHED_COVERAGE, this.#addCoverage(member, id))] : []
        this.#members.set(member, { patient: id, extensions: [extensionOf(MATCHED_PATIENT, id), ...coverage] })
      }
    }
  }

  /** Returns the extensions that refer to the sent resources of the member. */
  extensionsOf = (member: SentMember): readonly Element[] => this.#members.get(member)!.extensions

  /** Returns the reference to the sent Patient of the member. */
  referenceOf = (member: SentMember): string => `#${this.#members.get(member)!.patient}`

  #addCoverage({ sent: { patient, coverage } }: SentMember, patientId: string): string {
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
 * the latter keep their other elements.
 */
function withoutForbidden({ meta, contained, ...others }: Resource): Resource {
  const { versionId, lastUpdated, security, ...rest } = meta ?? {}
  const content = contained === undefined ? others : mapReferences(others, withoutContained)
  return { ...content, resourceType: others.resourceType, ...(Object.keys(rest).length === 0 ? {} : { meta: rest }) } as Resource
}

/** Adds a text to an empty Reference, because R4 requires an element. */
function withoutContained(found: Element & { readonly reference: string }): Element {
  if (!found.reference.startsWith('#')) return found
  const { reference, ...others } = found
  return Object.keys(others).length > 0 ? others : { display: 'Not included' }
}
