/** Text as searches compare it: without case, accents and runs of white space. https://hl7.org/fhir/R4/search.html#string */

export function fold(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  const bare = ASCII.test(text) ? text : text.normalize('NFD').replace(/\p{M}/gu, '')
  return bare.toLowerCase().replace(/\s+/g, ' ').trim()
}

/** Words of ASCII with a space between them. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/
const ASCII = /^[\u0000-\u007f]*$/

/** Longer values are stored, but not searchable. */
export const LONGEST = 8_000
