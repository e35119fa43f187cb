/** Issues of a profile check. An issue that several profiles report is listed once, with the highest severity. */
import type { Issue, IssueCode } from '../outcome.ts'
import { IssueLimitReached, pathOf } from '../validate/findings.ts'

/** Maximum issues in a result. An error beyond it ends the check. Other issues beyond it are left out. */
const MAX_ISSUES = 100

const MORE: Issue = { severity: 'information', code: 'informational', text: `There are more findings; the first ${MAX_ISSUES} are listed` }

export class ProfileIssues {
  readonly #found = new Map<string, Issue>()
  readonly #path: (string | number)[]
  readonly #isApart: boolean
  #others = 0
  errors = 0
  /** First reason why a rule could not be decided. */
  undecided: string | undefined

  constructor(path: readonly (string | number)[] = [], isApart = false) {
    this.#path = [...path]
    this.#isApart = isApart
  }

  enter(step: string | number): void {
    this.#path.push(step)
  }

  leave(): void {
    this.#path.pop()
  }

  /** Returns empty issues for a trial check at the same location. They never throw IssueLimitReached. */
  apart(): ProfileIssues {
    return new ProfileIssues(this.#path, true)
  }

  add(others: ProfileIssues): void {
    for (const [key, issue] of others.#found) this.#keep(key, issue)
  }

  /**
   * Reports an issue at the current location. `rule`: identifies the issue across profiles. Throws IssueLimitReached for the first error
   * beyond the maximum.
   */
  report(severity: Issue['severity'], code: IssueCode, rule: string, text: string): void {
    this.reportAt(this.expression, { severity, code, text }, rule)
  }

  reportAt(expression: string, issue: Issue, rule: string): void {
    this.#keep(`${expression} ${rule}`, { ...issue, expression })
  }

  /** Reports an issue once per check, at its first location. Later locations are not reported. */
  reportOnce(severity: Issue['severity'], code: IssueCode, rule: string, text: string): void {
    this.#keep(rule, { severity, code, text, expression: this.expression })
  }

  get expression(): string {
    return pathOf(this.#path)
  }

  /** Returns the issues, at most 100 and a notice that there are more. Errors come first if not all are listed. */
  get issues(): readonly Issue[] {
    const all = [...this.#found.values()]
    if (Math.max(this.errors, this.#others, all.length) <= MAX_ISSUES) return all
    const [errors, others] = [all.filter(isError), all.filter((issue) => !isError(issue))]
    return [...[...errors, ...others].slice(0, MAX_ISSUES), MORE]
  }

  #keep(key: string, issue: Issue): void {
    const before = this.#found.get(key)
    if (before !== undefined && GRAVEST.indexOf(before.severity) <= GRAVEST.indexOf(issue.severity)) return
    if (before !== undefined) this.#others--
    if (!isError(issue) && UNDECIDED.has(issue.code)) this.undecided ??= issue.text
    const count = isError(issue) ? ++this.errors : ++this.#others
    if (count <= MAX_ISSUES) this.#found.set(key, issue)
    else if (isError(issue) && !this.#isApart) throw new IssueLimitReached()
  }
}

const GRAVEST: readonly Issue['severity'][] = ['fatal', 'error', 'warning', 'information']

const UNDECIDED: ReadonlySet<IssueCode> = new Set(['not-supported', 'too-costly'])

const isError = ({ severity }: Issue): boolean => severity === 'error'
