/** Paths of the elements that the issues of an OperationOutcome are about. */
import { isTree, type Json, listOf, type Tree, textOf } from './json.ts'

/** Names and indexes that lead from a resource to one of its values, such as `['name', 0, 'family']`. Empty: the resource itself. */
export type Path = readonly (string | number)[]

/** Issue with the path of its element, from the value that is shown. */
export type Mark = { readonly path: Path; readonly issue: Tree }

/** Step of an expression: an index, or a name with the argument if it is a function. */
type Step = { readonly index?: number; readonly name: string; readonly argument: string | undefined }

const STEP = /\.?([A-Za-z_][\w-]*)(?:\(([^()]*)\))?|\[(\d+)\]/y

/**
 * Returns the path of the element that a FHIRPath expression such as `Patient.name[0].family` names, or undefined if the resource has no
 * such element. Knows indexes, choices (`value`, `value.ofType(Quantity)`, `valueQuantity`), extensions by URL, and parts of primitives
 * (`birthDate.extension`). Stops at a list of several items if the expression has no index. http://hl7.org/fhirpath/N1/
 */
export function pathOf(expression: string, resource: Tree): Path | undefined {
  const [first, ...rest] = stepsOf(expression) ?? []
  if (first === undefined) return undefined
  let path: Path = []
  for (const step of first.name === resource.resourceType ? rest : [first, ...rest]) {
    const items = valueAt(resource, path)
    if (Array.isArray(items) && items.length > 1 && isElement(step)) return path
    const next = pathAfter(path, step, resource)
    if (next === undefined) return undefined
    path = next
  }
  return path
}

/** Functions that change the path. Every other name is an element. */
const FUNCTIONS: ReadonlySet<string> = new Set(['ofType', 'as', 'where', 'extension'])

const isElement = ({ index, argument }: Step): boolean => index === undefined && argument === undefined

function stepsOf(expression: string): readonly Step[] | undefined {
  const steps: Step[] = []
  STEP.lastIndex = 0
  while (STEP.lastIndex < expression.length) {
    const [, name = '', argument, index] = STEP.exec(expression) ?? []
    if (name === '' && index === undefined) return undefined
    if (argument !== undefined && !FUNCTIONS.has(name)) return undefined
    steps.push({ name, argument, ...(index === undefined ? {} : { index: Number(index) }) })
  }
  return steps
}

function pathAfter(path: Path, step: Step, resource: Tree): Path | undefined {
  const value = valueAt(resource, path)
  if (step.index !== undefined) return Array.isArray(value) ? itemPath(path, value, step.index) : step.index === 0 ? path : undefined
  if (step.argument === undefined) return elementPath(path, step.name, resource)
  if (step.name === 'where') return matchPath(path, value, step.argument)
  if (step.name !== 'extension') return isOfType(path, value, step.argument) ? path : undefined
  const extensions = elementPath(path, 'extension', resource)
  return extensions === undefined ? undefined : matchPath(extensions, valueAt(resource, extensions), `url = ${step.argument}`)
}

const itemPath = (path: Path, items: readonly Json[], index: number): Path | undefined =>
  index < items.length ? [...path, index] : undefined

/** Returns the path of an element of a tree, of the only item of a list, or of a primitive, whose parts stand under `_name`. */
function elementPath(path: Path, name: string, resource: Tree): Path | undefined {
  const value = valueAt(resource, path)
  if (Array.isArray(value)) return value.length === 1 ? elementPath([...path, 0], name, resource) : undefined
  const holder = isTree(value) ? path : partsPath(path)
  const tree = valueAt(resource, holder)
  const key = isTree(tree) ? keyOf(tree, name) : undefined
  return key === undefined ? undefined : [...holder, key]
}

/** Returns the path of the id and the extensions of a primitive. */
function partsPath(path: Path): Path {
  const last = path.findLastIndex((each) => typeof each === 'string')
  return path.map((each, i) => (i === last ? `_${each}` : each))
}

/** Returns the name of an element in JSON: itself, with the type of a choice, or with an underscore if it has no value. */
function keyOf(tree: Tree, name: string): string | undefined {
  if (Object.hasOwn(tree, name)) return name
  const keys = Object.keys(tree)
  const isChoice = (key: string) => key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length))
  return keys.find(isChoice) ?? keys.find((key) => key === `_${name}`) ?? keys.find((key) => key.startsWith('_') && isChoice(key.slice(1)))
}

/** Whether a value is a resource of the type, or a choice with this type. */
function isOfType(path: Path, value: Json | undefined, type: string): boolean {
  const name = type.trim().replace(/^(?:FHIR|System)\./, '')
  if (isTree(value) && value.resourceType !== undefined) return value.resourceType === name
  return String(path.findLast((each) => typeof each === 'string')).endsWith(name.slice(0, 1).toUpperCase() + name.slice(1))
}

/** Returns the path of the first item that a criterion such as `url = 'http://a'` matches. */
function matchPath(path: Path, value: Json | undefined, criterion: string): Path | undefined {
  const [, name, text] = /^\s*(\w+)\s*=\s*'([^']*)'\s*$/.exec(criterion) ?? []
  const index = name === undefined ? -1 : listOf(value).findIndex((each) => isTree(each) && textOf(each[name]) === text)
  return index === -1 ? undefined : Array.isArray(value) ? [...path, index] : path
}

function valueAt(resource: Tree, path: Path): Json | undefined {
  let value: Json | undefined = resource
  for (const step of path)
    value = Array.isArray(value)
      ? (value as readonly Json[])[Number(step)]
      : isTree(value) && Object.hasOwn(value, step)
        ? value[step]
        : undefined
  return value
}

/** Divides issues into those with an element below the resource, and the others. `hidden`: elements that the page does not show. */
export function divide(issues: readonly Tree[], resource: Tree, hidden: readonly string[]) {
  const marks: Mark[] = []
  const others: Tree[] = []
  for (const issue of issues) {
    const paths = listOf(issue.expression).flatMap((each) => [pathOf(textOf(each) ?? '', resource) ?? []])
    const shown = paths.filter(([name]) => name !== undefined && !hidden.includes(String(name)))
    if (shown.length === 0) others.push(issue)
    else marks.push(...shown.map((path) => ({ path, issue })))
  }
  return { marks, others }
}

const NONE: readonly Mark[] = []

/** Returns a function that returns the marks of a part, with their paths from there. It reads the marks once for all parts. */
export function marksByPart(marks: readonly Mark[]): (step: string | number) => readonly Mark[] {
  if (marks.length === 0) return () => NONE
  const parts = new Map<string | number, Mark[]>()
  for (const { path, issue } of marks) {
    const [first, ...rest] = path
    if (first === undefined) continue
    const own = parts.get(first)
    if (own === undefined) parts.set(first, [{ path: rest, issue }])
    else own.push({ path: rest, issue })
  }
  return (step) => parts.get(step) ?? NONE
}
