/** Patterns, and steps whose cost is not bounded by the size of the element they start from. */
const LONG = /"(?:matches|replaceMatches|children|descendants|intersect|exclude|distinct|isDistinct|resource|root)"/

export const mayTakeLong = (compiled: object): boolean => LONG.test(JSON.stringify(compiled))
