/** What is wrong with an expression that is no FHIRPath. http://hl7.org/fhirpath/N1/ */

/**
 * With the place in it, as far as that is known: fhirpath.js tells it of what it cannot read, and names the functions it does not have.
 * `linesBefore`: of what it was evaluated within. undefined: it can be read, and fails on what it is evaluated on.
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
