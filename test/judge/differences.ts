/** Where this server and HAPI's validator say different things of a case, and what R4 says. */
import type { Side } from './cases.ts'
import type { Case } from './generate/cases.ts'

export type Difference = {
  readonly category: string
  readonly kinds: RegExp
  /** Absent: any. */
  readonly elements?: RegExp
  readonly side: Side
  /** Whether it is wrong. */
  readonly isWrong: boolean
  /** What R4 says, and where. */
  readonly passage: string
  readonly source: string
}

/** Returns whether the passage is about a side of a case. */
export const isAbout = ({ kinds, elements, ...row }: Difference, { category, kind, element }: Case, side: Side): boolean =>
  row.side === side && row.category === category && kinds.test(kind) && (elements?.test(element) ?? true)

export const DIFFERENCES: readonly Difference[] = [
  ...['wrong JSON type', 'empty or null'].map(
    (category): Difference => ({
      category,
      kinds: /./,
      elements: /\.id$/,
      side: 'neighbour',
      isWrong: true,
      passage: 'The type of Resource.id is System.String of FHIRPath, which has no extensions. R4’s schema has no _id of a resource.',
      source: 'https://hl7.org/fhir/R4/fhir.schema.json.zip',
    }),
  ),
  {
    category: 'primitive format',
    kinds: /^(?:string|markdown) "a\\u000/,
    side: 'break',
    isWrong: true,
    passage: 'A string has no characters below 32 but tab, carriage return and line feed (u0009, u000D, u000A); markdown is a string.',
    source: 'https://hl7.org/fhir/R4/datatypes.html#string',
  },
  {
    category: 'empty or null',
    kinds: /^empty list of texts$/,
    side: 'break',
    isWrong: true,
    passage: 'An array is not empty: a property that is there has at least one item. HAPI says so of objects, not of primitives.',
    source: 'https://hl7.org/fhir/R4/json.html',
  },
  {
    category: 'primitive format',
    kinds: /^time /,
    side: 'neighbour',
    isWrong: false,
    passage: 'A time has seconds and may have fractions of them: ([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]+)?',
    source: 'https://hl7.org/fhir/R4/datatypes.html#time',
  },
  {
    category: 'primitive format',
    kinds: /^base64Binary /,
    side: 'neighbour',
    isWrong: false,
    passage: 'White space may stand between groups of four characters: (\\s*([0-9a-zA-Z\\+\\/=]){4}\\s*)+',
    source: 'https://hl7.org/fhir/R4/datatypes.html#base64Binary',
  },
]

export const PROFILED_DIFFERENCES: readonly Difference[] = [
  {
    category: 'invariant',
    kinds: /^us-core-1$/,
    side: 'break',
    isWrong: true,
    passage: 'us-core-1: a dateTime must be at least to the day. HAPI takes an element of the type dateTime for no DateTime.',
    source: 'https://hl7.org/fhir/R4/fhirpath.html#types',
  },
  {
    category: 'invariant',
    kinds: /^provenance-1$/,
    side: 'break',
    isWrong: true,
    passage: 'onBehalfOf shall be there where who is a Practitioner: the reference says its type. HAPI does not resolve it.',
    source: 'https://hl7.org/fhir/R4/references.html#literal',
  },
]
