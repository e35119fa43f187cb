/**
 * Keys of the constraints that R4 defines on its own types. Validation checks them without profiles, so loaded profiles leave them out.
 * https://hl7.org/fhir/R4/conformance-rules.html#constraints
 */
import keys from './constraint-keys.json' with { type: 'json' }

const KEYS: ReadonlySet<string> = new Set(keys)

export const isConstraintOfR4 = (key: string): boolean => KEYS.has(key)
