/** The numbers of a kind's fields, as a search needs them. */
import type { Numbers } from './compile-plan.ts'
import type { Statements } from './statements.ts'

export function numbersOf(kind: number, statements: Statements): Numbers {
  const ofField = statements.prepare('SELECT field FROM field WHERE kind = ? AND name = ?')
  const ofCombinations = statements.prepare('SELECT combination FROM combined WHERE field = ?')
  const field = once((name) => (ofField.get(kind, name) as { readonly field: number } | undefined)?.field)
  const combined = (number: number | undefined): readonly number[] =>
    number === undefined ? [] : ofCombinations.all(number).map((each) => (each as { readonly combination: number }).combination)
  return {
    kind,
    field,
    combinations: once((name) => combined(field(name))),
    presence: once((name) => combined(field(name) && -field(name)!)),
  }
}

/** Asks once for each name. */
function once<Found>(ask: (name: string) => Found): (name: string) => Found {
  const answers = new Map<string, Found>()
  return (name) => {
    if (!answers.has(name)) answers.set(name, ask(name))
    return answers.get(name)!
  }
}
