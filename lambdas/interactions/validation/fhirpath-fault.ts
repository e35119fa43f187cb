/** Errors in expressions that are not valid FHIRPath. http://hl7.org/fhirpath/N1/ */

/**
 * Returns the error with its line and column. fhirpath.js reports the position of a syntax error, but only the name of an unknown function.
 * Returns undefined if the expression is valid and fails on its input. `linesBefore`: lines of the wrapping expression before this one.
 */
export function expressionErrorOf(expression: string, reason: string, linesBefore = 0): string | undefined {
  const [, line, offset, message] = /^line: (\d+); column: (\d+); message: (.*)/.exec(reason) ?? []
  if (message !== undefined) return `${message} (line ${Number(line) - linesBefore}, column ${Number(offset) + 1})`
  const [, name] = /^Not implemented: (\w+)$/.exec(reason) ?? []
  const before = name === undefined ? undefined : new RegExp(`^(.*?)\\b${name}\\s*\\(`, 's').exec(expression)?.[1]
  if (before === undefined) return undefined
  const lines = before.split('\n')
  return `there is no function ${name} (line ${lines.length}, column ${lines.at(-1)!.length + 1})`
}
