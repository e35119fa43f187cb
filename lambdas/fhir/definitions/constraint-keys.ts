/**
 * Constraints that R4 defines on its own types. They are checked without profiles, so loaded profiles omit them.
 * https://hl7.org/fhir/R4/conformance-rules.html#constraints
 */
import keys from './constraint-keys.json' with { type: 'json' }

const KEYS: ReadonlySet<string> = new Set(keys)

export const isConstraintOfR4 = (key: string): boolean => KEYS.has(key)
