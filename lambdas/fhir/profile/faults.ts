/** What a check of profiles has found: each fault once, however many profiles say it. */
import type { Issue, IssueCode } from '../outcome.ts'
import { pathOf } from '../validate/findings.ts'

export class Faults {
  readonly found = new Map<string, Issue>()
  readonly #path: (string | number)[]
  errors = 0

  constructor(path: readonly (string | number)[] = []) {
    this.#path = [...path]
  }

  enter(step: string | number): void {
    this.#path.push(step)
  }

  leave(): void {
    this.#path.pop()
  }

  /** Of the same place, for what may turn out not to matter. */
  apart(): Faults {
    return new Faults(this.#path)
  }

  add(others: Faults): void {
    for (const [key, issue] of others.found) this.#keep(key, issue)
  }

  /** `rule`: what is the same fault wherever it is said. */
  report(severity: Issue['severity'], code: IssueCode, rule: string, text: string): void {
    this.reportAt(this.expression, { severity, code, text }, rule)
  }

  reportAt(expression: string, issue: Issue, rule: string): void {
    this.#keep(`${expression} ${rule}`, { ...issue, expression })
  }

  /** Told where it is first met, and nowhere else. */
  reportOnce(severity: Issue['severity'], code: IssueCode, rule: string, text: string): void {
    this.#keep(rule, { severity, code, text, expression: this.expression })
  }

  get expression(): string {
    return pathOf(this.#path)
  }

  #keep(key: string, issue: Issue): void {
    if (this.found.has(key)) return
    this.found.set(key, issue)
    if (issue.severity === 'error') this.errors++
  }
}
