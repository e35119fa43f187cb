/** Outcomes of a match that finds no member. Only the operator learns them. */
export type Unmatched =
  | 'no match'
  | 'several candidates'
  | 'no identifier'
  | 'denied'
  | 'not treated'
  | 'incomplete'
  | 'too many guesses'
  | 'consent not complied with'
