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

export const outcome = (issues: readonly Issue[]): Resource => ({
  resourceType: 'OperationOutcome',
  issue: issues.map(({ severity, code, text, expression }) => ({
    severity,
    code,
    details: { text },
    ...(expression === undefined ? {} : { expression: [expression] }),
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
