/** Strings of a resource that are searchable by type, but too long to be found. Section 8 of the specification: a warning on write. */
import { selectElement } from '../../fhir/path/selected-elements.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import type { SearchContext } from '../search-context.ts'
import { MAX_SEARCHABLE_CHARACTERS } from '../text-folding.ts'
import { extract } from './extract.ts'

/** FHIRPath of each, `Patient.name[0].family`. Empty, quickly, for a resource without a long string. */
export function findLongStrings(resource: Resource, reading: SearchContext = {}): readonly string[] {
  if (!hasLongString(resource)) return []
  const places: Place[] = []
  const short = shortened(resource, [], places) as Resource
  const { keys, tuples } = extract({ ...VERSION, type: resource.resourceType }, short, reading)
  const found = new Set(JSON.stringify([keys, tuples]).match(/long-string-\d+-/g))
  return places.filter((_, i) => found.has(nameOf(i))).map((at) => selectElement(resource, at).path)
}

type Place = readonly (string | number)[]

function hasLongString(tree: unknown): boolean {
  if (typeof tree === 'string') return tree.length > MAX_SEARCHABLE_CHARACTERS
  if (Array.isArray(tree)) return tree.some(hasLongString)
  if (!isElement(tree)) return false
  for (const name in tree) if (hasLongString(tree[name])) return true
  return false
}

/** With short strings in the place of long ones, which tell where they stood: they are in an index, or not, as those would be. */
function shortened(tree: unknown, at: Place, places: Place[]): unknown {
  if (typeof tree === 'string') return tree.length > MAX_SEARCHABLE_CHARACTERS ? nameOf(places.push(at) - 1) : tree
  if (Array.isArray(tree)) return tree.map((item, i) => shortened(item, [...at, i], places))
  if (!isElement(tree)) return tree
  return Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, shortened(value, [...at, name], places)]))
}

/** Nothing that a search folds. */
const nameOf = (place: number): string => `long-string-${place}-`

const VERSION = { tenant: '', id: '', versionId: 0, lastUpdated: 0, deleted: false, compartments: [], body: new Uint8Array() }
