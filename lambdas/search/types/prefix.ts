/** Prefixes of query values that compare: `ge2020`. https://hl7.org/fhir/R4/search.html#prefix */

const PREFIX = /^(eq|ne|gt|lt|ge|le|sa|eb|ap)(?=[\d+\-.])/

/** Splits `ge2020` into [`ge`, `2020`]. A value without a prefix gets `eq`. */
export function splitPrefix(value: string): readonly [prefix: string, text: string] {
  const prefix = PREFIX.exec(value)?.[1]
  return prefix === undefined ? ['eq', value] : [prefix, value.slice(2)]
}
