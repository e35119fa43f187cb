/** OperationOutcome, and the one error that carries it to the client. https://hl7.org/fhir/R4/operationoutcome.html */
import type { Resource } from './resource.ts'

/** https://hl7.org/fhir/R4/valueset-issue-type.html, the codes this server answers with. */
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
  /** What is wrong, for a person; no clinical content. */
  readonly text: string
  /** FHIRPath of the element, where there is one: `Patient.name[0].given`. */
  readonly expression?: string
}

/** Characters of a text: room for the names of all parameters of a type. */
const LONGEST = 2_000
/** What moves the cursor, ends a line, turns the direction of what is read, or is half a character. */
const ILLEGIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** In one line that somebody reads, whatever definitions and requests have in their names and rules. */
const legible = (text: string): string => {
  const line = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
  return line.replace(ILLEGIBLE, ' ')
}

/** As FHIRPath writes them in names and texts. http://hl7.org/fhirpath/N1/#string */
const escaped = (expression: string): string =>
  expression.replace(ILLEGIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** In texts and expressions nothing is illegible. */
export const operationOutcomeOf = (issues: readonly Issue[]): Resource => ({
  resourceType: 'OperationOutcome',
  issue: issues.map(({ severity, code, text, expression }) => ({
    severity,
    code,
    details: { text: legible(text) },
    ...(expression === undefined ? {} : { expression: [escaped(expression)] }),
  })),
})

/** A broken request: becomes an HTTP status and an OperationOutcome. Anything else that is thrown is a broken machine. */
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
