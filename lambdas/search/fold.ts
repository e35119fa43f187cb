/** Text as searches compare it: without case, accents and runs of white space. https://hl7.org/fhir/R4/search.html#string */

export const fold = (text: string): string =>
  ASCII.test(text)
    ? text.toLowerCase().replace(SPACES, ' ').trim()
    : text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replace(/\s+/g, ' ').trim()

const ASCII = /^[\u0000-\u007f]*$/
const SPACES = /\s+/g

/** Longer values are stored, but not searchable. */
export const LONGEST = 8_000
