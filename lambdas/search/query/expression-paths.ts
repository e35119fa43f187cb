/** Paths of the elements that the expression of a search parameter reads, also in its filters. */
import type { Mapping } from '../../../search-mappings/mapping.ts'
import type { Branch, Expression, PathStep } from '../../fhir/path/branch.ts'

/** Element that an expression reads. `path`: names of JSON members from the resource on. `type`: its FHIR type. */
export type ReadElement = { readonly path: readonly string[]; readonly type: string }

/** Returns the elements that a parameter reads, or undefined if the expression does not name all of them. */
export function elementsOf({ values, components = [] }: Pick<Mapping, 'values' | 'components'>): readonly ReadElement[] | undefined {
  const found: ReadElement[] = []
  const starts = values.map((branch) => (components.length === 0 ? read : pathOf)(branch, [], found))
  const parts = components.flatMap((component) => Object.values(component.values)).flat()
  for (const start of starts) for (const branch of parts) read(branch, start, found)
  return starts.includes(OPAQUE) || found.some(({ path }) => path === OPAQUE) ? undefined : found
}

/** Path of a step that reads elements without their names. */
const OPAQUE: readonly string[] = ['**']
/** Path of a value that is not an element, such as a literal. The elements from which it is computed are added. */
const COMPUTED: readonly string[] = ['%']

type Found = ReadElement[]

/** Adds the values of a branch that starts at `from`, and returns their path. */
function read(branch: Branch, from: readonly string[], found: Found): readonly string[] {
  const path = pathOf(branch, from, found)
  if (path !== COMPUTED) found.push({ path, type: branch[0].split(' ')[0]! })
  return path
}

/** Returns the path of the values of a branch. Adds only the elements that its filters read. */
function pathOf([, ...steps]: Branch, from: readonly string[], found: Found): readonly string[] {
  let path = from
  for (const step of steps) path = path === OPAQUE || path === COMPUTED ? path : pathAfter(step, path, found)
  return path
}

function pathAfter(step: PathStep, path: readonly string[], found: Found): readonly string[] {
  if (typeof step === 'string') return [...path, step.replace(/\?$/, '')]
  switch (step[0]) {
    case 'where':
      found.push(...filteredBy(step[1], path))
      return path
    case 'value':
      readBy(step[1], path, found)
      return COMPUTED
    case 'type':
    case 'url':
      return path
    case 'resource':
    case 'root':
      return []
    case 'children':
    case 'descendants':
      return OPAQUE
    case 'first':
    case 'last':
    case 'distinct':
      return joined(step[1], path, found)
    case 'skip':
    case 'take':
    case 'item':
      return joined(step[2], path, found)
    case 'intersect':
    case 'exclude':
      for (const branch of [...step[1], ...step[2]]) read(branch, path, found)
      return joined(step[1], path, found)
  }
}

/** Returns the path of the values of several branches. Steps after different paths are opaque. */
function joined(branches: readonly Branch[], path: readonly string[], found: Found): readonly string[] {
  const paths = branches.map((branch) => pathOf(branch, path, found))
  const [first = path] = paths
  return paths.every((each) => each.join('.') === first.join('.')) ? first : OPAQUE
}

/** Returns the elements that a filter reads. Omits the URL of a filtered extension, because it only selects the extension. */
function filteredBy(expression: Expression, path: readonly string[]): readonly ReadElement[] {
  const read: ReadElement[] = []
  readBy(expression, path, read)
  const isExtension = /^(?:modifierE|e)xtension$/.test(path.at(-1) ?? '')
  return read.filter((element) => !isExtension || element.path.length !== path.length + 1 || element.path.at(-1) !== 'url')
}

/** Adds the elements that a filter reads at `path`. */
function readBy(expression: Expression, path: readonly string[], found: Found): void {
  if (!Array.isArray(expression)) return
  const all = (branches: readonly Branch[]) => branches.map((branch) => read(branch, path, found))
  const [name, ...rest] = expression as Exclude<Expression, string | number | boolean | null>
  switch (name) {
    case 'refers':
      all(rest[1] as readonly Branch[])
      return
    case 'is':
      all((rest[0] as readonly (readonly [Branch, unknown])[]).map(([branch]) => branch))
      return
    case 'all':
      for (const [branch, each] of rest[0] as readonly (readonly [Branch, Expression])[]) readBy(each, read(branch, path, found), found)
      return
    case '=':
    case '!=':
    case '~':
    case '!~':
      for (const branches of rest as readonly (readonly Branch[])[]) all(branches)
      return
    case 'in':
      readBy(rest[0] as Expression, path, found)
      all(rest[1] as readonly Branch[])
      return
    case 'and':
    case 'or':
    case 'implies':
    case 'iif':
      for (const each of rest as readonly Expression[]) readBy(each, path, found)
      return
    case 'operator':
      for (const each of rest[1] as readonly Expression[]) readBy(each, path, found)
      return
    default:
      all(rest[0] as readonly Branch[])
  }
}
