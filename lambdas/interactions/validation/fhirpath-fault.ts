/** Errors in expressions that are not valid FHIRPath. http://hl7.org/fhirpath/N1/ */

/**
 * Returns the syntax error or unknown function in an expression, with line and column. Returns undefined if the expression is valid and
 * only failed on its input. `reason`: message of fhirpath.js. `linesBefore`: lines that a wrapper added before the expression.
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
