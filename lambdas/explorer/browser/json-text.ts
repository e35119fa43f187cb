/** Text of JSON: its indentation, and the indexes of values in it. */
import { type Path, pathOf } from './issue-places.ts'
import { isTree, listOf, parseJson, type Tree, textOf } from './json.ts'

/** Indents JSON without a change of its values. Numbers keep their decimals. */
export function prettyText(text: string): string {
  const parts: string[] = []
  let indent = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '"') {
      const end = endOfString(text, i)
      parts.push(text.slice(i, end))
      i = end - 1
    } else if (char === '{' || char === '[') {
      indent += '  '
      parts.push(`${char}\n${indent}`)
    } else if (char === '}' || char === ']') {
      indent = indent.slice(2)
      parts.push(`\n${indent}${char}`)
    } else if (char === ',') parts.push(`,\n${indent}`)
    else if (char === ':') parts.push(': ')
    else if (!/\s/.test(char)) parts.push(char)
  }
  return parts.join('')
}

/** Returns the index after the string that begins at `start`. A regular expression would overflow its stack at some megabytes. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i + 1
  }
  return text.length
}

/** Returns the index of the value at the path, or undefined if the text has no such value. The text must be valid JSON. */
export function indexOf(text: string, path: Path): number | undefined {
  let index = skipSpace(text, 0)
  for (const step of path) {
    const next = partOf(text, index, step)
    if (next === undefined) return undefined
    index = next
  }
  return index
}

/** Returns the index of a part of the object or array that begins at `index`. */
function partOf(text: string, index: number, step: string | number): number | undefined {
  const isObject = text[index] === '{'
  if (!isObject && text[index] !== '[') return undefined
  let i = skipSpace(text, index + 1)
  for (let n = 0; i < text.length && text[i] !== '}' && text[i] !== ']'; n++) {
    let name: string | number = n
    if (isObject) {
      const end = endOfString(text, i)
      name = JSON.parse(text.slice(i, end)) as string
      i = skipSpace(text, skipSpace(text, end) + 1)
    }
    if (name === step) return i
    i = endOfValue(text, i)
    if (text[i] === ',') i = skipSpace(text, i + 1)
  }
  return undefined
}

/** Returns the index after the white space at `index`. */
function skipSpace(text: string, index: number): number {
  let i = index
  while (/\s/.test(text[i] ?? '')) i++
  return i
}

/** Returns the index of the comma after the value at `index`, or of the end of the object or array that contains it. */
function endOfValue(text: string, index: number): number {
  let depth = 0
  for (let i = index; i < text.length; i++) {
    const char = text[i]!
    if (char === '"') i = endOfString(text, i) - 1
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth < 0) return i
    else if (char === ',' && depth === 0) return i
  }
  return text.length
}

/** Indexes of the first character of a line and of its end. */
type Line = readonly [from: number, to: number]

/**
 * Returns a function that returns the place of an issue in the text of a resource: the path of its element, or the number of the line that
 * the message of the server names because the text is no JSON. The function does not search the text, which may have megabytes.
 */
export function issuePlaceIn(text: string): (issue: Tree) => Path | number | undefined {
  const resource = resourceOf(text)
  if (resource === undefined) return ({ details }) => lineNumberIn((isTree(details) ? textOf(details.text) : undefined) ?? '')
  return ({ expression }) =>
    listOf(expression)
      .map((each) => pathOf(textOf(each) ?? '', resource) ?? [])
      .find(({ length }) => length > 0)
}

/** Returns the line of an issue in the text of a resource, or undefined if the text has no such place. */
export function issueLineIn(text: string, issue: Tree): Line | undefined {
  const place = issuePlaceIn(text)(issue)
  if (place === undefined) return undefined
  const index = typeof place === 'number' ? indexOfLine(text, place) : indexOf(text, place)
  return index === undefined ? undefined : lineAt(text, index)
}

function resourceOf(text: string): Tree | undefined {
  try {
    const resource = parseJson(text)
    return isTree(resource) ? resource : undefined
  } catch {
    return undefined
  }
}

function lineNumberIn(message: string): number | undefined {
  const [, line] = /\(line (\d+), column \d+\)/.exec(message) ?? []
  return line === undefined ? undefined : Number(line)
}

const indexOfLine = (text: string, line: number): number =>
  text
    .split('\n')
    .slice(0, line - 1)
    .reduce((sum, each) => sum + each.length + 1, 0)

function lineAt(text: string, index: number): Line {
  const end = text.indexOf('\n', index)
  return [index === 0 ? 0 : text.lastIndexOf('\n', index - 1) + 1, end === -1 ? text.length : end]
}
