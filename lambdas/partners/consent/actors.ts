/** Organizations that a Consent names. https://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html */
import { isElement, type Resource } from '../../fhir/resource.ts'
import { RECIPIENT } from '../codes.ts'
import { type Code, hasCode, identifierOf, itemsOf, type PartyIdentifier } from '../elements.ts'

/** Returns the identifiers of the actors with this role. A Reference without an identifier is not followed. */
export const actorsOf = ({ provision }: Resource, role: Code): readonly PartyIdentifier[] =>
  itemsOf(isElement(provision) ? provision.actor : undefined)
    .filter((actor) => hasCode(actor.role, role))
    .flatMap(({ reference }) => (isElement(reference) && isElement(reference.identifier) ? identifierOf(reference.identifier) : []))

/** Returns the identifiers of the organizations to which the Consent permits a disclosure. */
export const recipientsOf = (consent: Resource): readonly PartyIdentifier[] => actorsOf(consent, RECIPIENT)

/** Whether one of the actors has one of the identifiers. */
export const isAmong = (actors: readonly PartyIdentifier[], identifiers: readonly PartyIdentifier[]): boolean =>
  actors.some((actor) => identifiers.some((own) => own.value === actor.value && (own.system === undefined || own.system === actor.system)))
