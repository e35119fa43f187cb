/** Issues of a validation, and its current location. https://hl7.org/fhir/R4/operationoutcome.html */
import type { Issue, IssueCode } from '../outcome.ts'

const MAX_ISSUES = 100

/** Error that ends a validation beyond the maximum number of issues, because a body may have millions. */
export class IssueLimitReached extends Error {}

/** Collector of issues. The current location is a stack, from which an issue gets its FHIRPath. */
export class ValidationIssues {
  readonly issues: Issue[] = []
  depth = 0
  private readonly path: (string | number)[] = []

  enter(step: string | number): void {
    this.path[this.depth++] = step
  }

  leave(): void {
    this.depth--
  }

  /**
   * Reports an error at the current location; for a missing element, that is its parent. The first error beyond the maximum becomes a
   * notice, and throws IssueLimitReached.
   */
  report(code: IssueCode, text: string): void {
    if (this.issues.length < MAX_ISSUES)
      return void this.issues.push({ severity: 'error', code, text, expression: pathOf(this.path.slice(0, this.depth)) })
    this.issues.push({
      severity: 'information',
      code: 'informational',
      text: `There are more findings; the first ${MAX_ISSUES} are listed`,
    })
    throw new IssueLimitReached()
  }
}

/** Returns the FHIRPath of an element: `Patient.name[0].given`. */
export const pathOf = (steps: readonly (string | number)[]): string =>
  steps.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}${text === '' ? '' : '.'}${quoteName(step)}`),
    '',
  )

/**
 * Returns a name as FHIRPath can read it: in backticks if it is a keyword, such as `div` in Narrative.div, or no identifier. Names in
 * backticks are cut to 64 characters. http://hl7.org/fhirpath/N1/#keywords
 */
export const quoteName = (name: string): string =>
  /^[A-Za-z_]\w{0,63}$/.test(name) && !KEYWORDS.has(name) ? name : `\`${shortened(name).replace(/[\\`]/g, '\\$&')}\``

/** Returns the first 64 UTF-16 code units of a name, without a lone surrogate at the end. */
const shortened = (name: string): string => name.slice(0, 64).replace(/[\ud800-\udbff]$/, '')

const KEYWORDS: ReadonlySet<string> = new Set(['and', 'div', 'false', 'implies', 'mod', 'or', 'true', 'xor'])
