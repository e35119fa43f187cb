/** Constraints of R4's own types, which are checked without profiles. https://hl7.org/fhir/R4/conformance-rules.html#constraints */
import keys from './constraint-keys.json' with { type: 'json' }

const KEYS: ReadonlySet<string> = new Set(keys)

export const isConstraintOfR4 = (key: string): boolean => KEYS.has(key)
