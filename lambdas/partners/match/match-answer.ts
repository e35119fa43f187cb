/** Responses of `$member-match`. https://hl7.org/fhir/us/davinci-hrex/OperationDefinition-member-match.html */
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import { MEMBER_NUMBER, UNIQUE_MEMBER_IDENTIFIER } from '../codes.ts'
import { hasCode, itemsOf, textOf } from '../elements.ts'
import type { BrokenRule, Unmatched } from '../outcomes.ts'

/**
 * Returns the identifier by which a partner finds the member, with type UMB. It is the Patient's own one of this type, else a member number,
 * else the first one with a system. Returns undefined if the Patient has none.
 */
export function memberIdentifierOf({ identifier }: Resource): Element | undefined {
  const usable = itemsOf(identifier).filter(({ value }) => textOf(value) !== undefined)
  const found =
    usable.find(({ type }) => hasCode(type, UNIQUE_MEMBER_IDENTIFIER)) ??
    usable.find(({ type }) => hasCode(type, MEMBER_NUMBER)) ??
    usable.find(({ system }) => textOf(system) !== undefined)
  return found === undefined ? undefined : { ...found, type: { coding: [UNIQUE_MEMBER_IDENTIFIER] } }
}

/** Returns the Parameters that name the member. Throws the response for no match if the Patient has no identifier. */
export function memberAnswerOf(patient: Resource): Resource {
  const identifier = memberIdentifierOf(patient)
  if (identifier === undefined) throw noMemberMatched('no identifier')
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'MemberIdentifier', valueIdentifier: identifier },
      { name: 'MemberId', valueReference: { reference: `Patient/${patient.id}` } },
    ],
  }
}

/** Reasons for the operator. The responses do not contain them. `rule`: rule that the Consent breaks. */
const REASONS = new WeakMap<FhirError, { readonly reason: Unmatched; readonly rule?: BrokenRule }>()

/** Returns the reason of a response below, or undefined for another error. */
export const unmatchedReasonOf = (error: FhirError): Unmatched | undefined => REASONS.get(error)?.reason
export const brokenRuleOf = (error: FhirError): BrokenRule | undefined => REASONS.get(error)?.rule

function withReason(reason: Unmatched, error: FhirError, rule?: BrokenRule): FhirError {
  REASONS.set(error, rule === undefined ? { reason } : { reason, rule })
  return error
}

/** Response for no match, for several matches, and for a member who denied. A partner cannot tell these cases apart. */
export const noMemberMatched = (reason: Unmatched): FhirError => withReason(reason, fhirError(422, 'not-found', 'No member was matched'))

/** Response for a Consent that was judged before the match. */
export const consentNotComplied = (rule?: BrokenRule): FhirError =>
  withReason('consent not complied with', fhirError(422, 'business-rule', 'The consent could not be complied with'), rule)
