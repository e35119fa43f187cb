/** What a validation has found so far, and where it is. https://hl7.org/fhir/R4/operationoutcome.html */
import type { Issue, IssueCode } from '../outcome.ts'

const MOST = 100

/** Nobody reads more findings, and a body may have millions. */
export class IssueLimitReached extends Error {}

/** Collects issues; the path is kept as a stack and written out only for a finding. */
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

  /** What is missing is told of its parent. Enough: one more than are listed, which ends the validation. */
  report(code: IssueCode, text: string): void {
    if (this.issues.length < MOST)
      return void this.issues.push({ severity: 'error', code, text, expression: pathOf(this.path.slice(0, this.depth)) })
    this.issues.push({ severity: 'information', code: 'informational', text: `There are more findings; the first ${MOST} are listed` })
    throw new IssueLimitReached()
  }
}

/** FHIRPath of an element: `Patient.name[0].given`. */
export const pathOf = (steps: readonly (string | number)[]): string =>
  steps.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}${text === '' ? '' : '.'}${quoteName(step)}`),
    '',
  )

/** Names that FHIRPath could not read stand in backticks: Narrative.div is an operator there. http://hl7.org/fhirpath/N1/#keywords */
export const quoteName = (name: string): string =>
  /^[A-Za-z_]\w{0,63}$/.test(name) && !KEYWORDS.has(name) ? name : `\`${begun(name).replace(/[\\`]/g, '\\$&')}\``

/** No character is cut in halves. */
const begun = (name: string): string => name.slice(0, 64).replace(/[\ud800-\udbff]$/, '')

const KEYWORDS: ReadonlySet<string> = new Set(['and', 'div', 'false', 'implies', 'mod', 'or', 'true', 'xor'])
