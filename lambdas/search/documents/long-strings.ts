/**
 * Finds searchable strings that are longer than the index allows. Writes report them as warnings (section 8 of the service's
 * specification).
 */
import { selectElement } from '../../fhir/path/selected-elements.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import type { SearchContext } from '../search-context.ts'
import { MAX_SEARCHABLE_CHARACTERS } from '../text-folding.ts'
import { extract } from './extract.ts'

/**
 * Returns the FHIRPath of each searchable string that is too long, such as `Patient.name[0].family`. Extracts nothing if no string is long.
 */
export function findLongStrings(resource: Resource, reading: SearchContext = {}): readonly string[] {
  if (!hasLongString(resource)) return []
  const paths: ElementPath[] = []
  const short = shortened(resource, [], paths) as Resource
  const { keys, tuples } = extract({ ...VERSION, type: resource.resourceType }, short, reading)
  const found = new Set(JSON.stringify([keys, tuples]).match(/long-string-\d+-/g))
  return paths.filter((_, i) => found.has(nameOf(i))).map((at) => selectElement(resource, at).path)
}

type ElementPath = readonly (string | number)[]

function hasLongString(tree: unknown): boolean {
  if (typeof tree === 'string') return tree.length > MAX_SEARCHABLE_CHARACTERS
  if (Array.isArray(tree)) return tree.some(hasLongString)
  if (!isElement(tree)) return false
  for (const name in tree) if (hasLongString(tree[name])) return true
  return false
}

/**
 * Replaces each long string by a short placeholder with its number. The index fields with the placeholder are those that the string would
 * have.
 */
function shortened(tree: unknown, at: ElementPath, paths: ElementPath[]): unknown {
  if (typeof tree === 'string') return tree.length > MAX_SEARCHABLE_CHARACTERS ? nameOf(paths.push(at) - 1) : tree
  if (Array.isArray(tree)) return tree.map((item, i) => shortened(item, [...at, i], paths))
  if (!isElement(tree)) return tree
  return Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, shortened(value, [...at, name], paths)]))
}

/** Returns a placeholder for the n-th long string. Text folding leaves it unchanged, so it can be found in any index field. */
const nameOf = (number: number): string => `long-string-${number}-`

const VERSION = { tenant: '', id: '', versionId: 0, lastUpdated: 0, deleted: false, compartments: [], body: new Uint8Array() }
