/** Outcomes of matches. Only the operator learns them. */

/** Outcome of a match that finds no member. */
export type Unmatched =
  | 'no match'
  | 'several candidates'
  | 'no identifier'
  | 'denied'
  | 'not treated'
  | 'incomplete'
  | 'too many guesses'
  | 'consent not complied with'

/** Rule that a Consent between payers breaks. */
export type ConsentFault =
  | 'status'
  | 'scope'
  | 'category'
  | 'provision-type'
  | 'period'
  | 'recipient'
  | 'source'
  | 'policy'
  | 'narrower-provision'
  | 'sensitive-labels'

/** Rule that the attestation of a provider breaks. */
export type AttestationFault = 'status' | 'scope' | 'date' | 'provision-type' | 'period' | 'performer' | 'unknown-provider'

export type BrokenRule = ConsentFault | AttestationFault
