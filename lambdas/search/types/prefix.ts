/** Prefixes of ordered values. https://hl7.org/fhir/R4/search.html#prefix */

const PREFIX = /^(eq|ne|gt|lt|ge|le|sa|eb|ap)(?=[\d+\-.])/

/** `ge2020` → [`ge`, `2020`]; without a prefix `eq`. */
export function splitPrefix(value: string): readonly [prefix: string, text: string] {
  const prefix = PREFIX.exec(value)?.[1]
  return prefix === undefined ? ['eq', value] : [prefix, value.slice(2)]
}
