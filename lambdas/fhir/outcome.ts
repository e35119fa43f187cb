/** OperationOutcome, and the error class that carries it to the client. https://hl7.org/fhir/R4/operationoutcome.html */
import type { Resource } from './resource.ts'

/** Issue codes that this server uses. https://hl7.org/fhir/R4/valueset-issue-type.html */
export type IssueCode =
  | 'invalid'
  | 'structure'
  | 'required'
  | 'value'
  | 'invariant'
  | 'code-invalid'
  | 'security'
  | 'login'
  | 'forbidden'
  | 'processing'
  | 'not-supported'
  | 'duplicate'
  | 'not-found'
  | 'deleted'
  | 'too-long'
  | 'too-costly'
  | 'multiple-matches'
  | 'business-rule'
  | 'conflict'
  | 'throttled'
  | 'no-store'
  | 'exception'
  | 'timeout'
  | 'incomplete'
  | 'informational'

export type Issue = {
  readonly severity: 'fatal' | 'error' | 'warning' | 'information'
  readonly code: IssueCode
  /** Description of the problem for a person. It must have no clinical content. */
  readonly text: string
  /** FHIRPath of the element, if there is one: `Patient.name[0].given`. */
  readonly expression?: string
}

/** Maximum characters of the text of an issue. Longer texts are cut. A list of all search parameters of a type fits. */
const LONGEST = 2_000
/** Characters that move the cursor, end a line or change the text direction, and lone surrogates. */
const ILLEGIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** Returns the text cut to `LONGEST` and in one readable line. Names and rules from definitions and requests may hold any character. */
const legible = (text: string): string => {
  const line = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
  return line.replace(ILLEGIBLE, ' ')
}

/** Escapes the illegible characters of an expression as FHIRPath does in names and strings. http://hl7.org/fhirpath/N1/#string */
const escaped = (expression: string): string =>
  expression.replace(ILLEGIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Creates an OperationOutcome. Cuts long texts, and replaces or escapes illegible characters. */
export const operationOutcomeOf = (issues: readonly Issue[]): Resource => ({
  resourceType: 'OperationOutcome',
  issue: issues.map(({ severity, code, text, expression }) => ({
    severity,
    code,
    details: { text: legible(text) },
    ...(expression === undefined ? {} : { expression: [escaped(expression)] }),
  })),
})

/** Error of a request, answered with an HTTP status and an OperationOutcome. Any other thrown error is a fault of the server. */
export class FhirError extends Error {
  readonly status: number
  readonly issues: readonly Issue[]
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, issues: readonly Issue[], headers: Readonly<Record<string, string>> = {}) {
    super(issues.map((issue) => issue.text).join('; '))
    this.status = status
    this.issues = issues
    this.headers = headers
  }
}

export const fhirError = (status: number, code: IssueCode, text: string, expression?: string): FhirError =>
  new FhirError(status, [{ severity: 'error', code, text, ...(expression === undefined ? {} : { expression }) }])
