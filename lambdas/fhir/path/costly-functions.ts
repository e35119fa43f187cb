/**
 * Names of compiled steps and functions that may take long: patterns, and steps whose work the size of their start element does not limit.
 */
const LONG = /"(?:matches|replaceMatches|children|descendants|intersect|exclude|distinct|isDistinct|resource|root)"/

export const mayTakeLong = (compiled: object): boolean => LONG.test(JSON.stringify(compiled))
