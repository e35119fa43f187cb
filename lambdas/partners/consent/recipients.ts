/** Organizations to which a Consent permits a disclosure. https://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html */
import { isElement, type Resource } from '../../fhir/resource.ts'
import { RECIPIENT } from '../codes.ts'
import { hasCode, identifierOf, itemsOf, type PartyIdentifier } from '../elements.ts'

/** Returns the identifiers of the recipients that the Consent names. A Reference without an identifier is not followed. */
export const recipientsOf = ({ provision }: Resource): readonly PartyIdentifier[] =>
  itemsOf(isElement(provision) ? provision.actor : undefined)
    .filter((actor) => hasCode(actor.role, RECIPIENT))
    .flatMap(({ reference }) => (isElement(reference) && isElement(reference.identifier) ? identifierOf(reference.identifier) : []))
