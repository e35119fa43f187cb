/** Strings of a resource that are searchable by type, but too long to be found. Section 8 of the specification: a warning on write. */
import { isElement, type Resource } from '../fhir/resource.ts'
import { extractorsOf } from './extract.ts'
import { LONGEST } from './fold.ts'
import type { Reading } from './reading.ts'
import { stringsOf } from './types/string.ts'

/** FHIRPath of each, `Patient.name[0].family`. Empty, quickly, for a resource without a long string. */
export function longStrings(resource: Resource, custom?: Reading['custom']): readonly string[] {
  if (!hasLongString(resource)) return []
  const places = longTextsIn(resource, resource.resourceType)
  const searchable = new Set(
    extractorsOf(resource.resourceType, custom).flatMap(({ parameter }) =>
      parameter.type === 'string' || parameter.type === 'token' || parameter.type === 'uri'
        ? parameter.values(resource).flatMap(({ type, value }) => [...stringsOf(type, value), ...textsBelow(value)])
        : [],
    ),
  )
  return places.filter(({ text }) => searchable.has(text)).map(({ path }) => path)
}

type LongText = { readonly path: string; readonly text: string }

function hasLongString(tree: unknown): boolean {
  if (typeof tree === 'string') return tree.length > LONGEST
  if (Array.isArray(tree)) return tree.some(hasLongString)
  if (!isElement(tree)) return false
  for (const name in tree) if (hasLongString(tree[name])) return true
  return false
}

function longTextsIn(tree: unknown, path: string): readonly LongText[] {
  if (typeof tree === 'string') return tree.length > LONGEST ? [{ path, text: tree }] : []
  if (Array.isArray(tree)) return tree.flatMap((item, i) => longTextsIn(item, `${path}[${i}]`))
  return isElement(tree) ? Object.entries(tree).flatMap(([name, value]) => longTextsIn(value, `${path}.${name}`)) : []
}

/** What a coded value or identifier is found by. */
function textsBelow(tree: unknown): readonly string[] {
  if (typeof tree === 'string') return [tree]
  if (Array.isArray(tree)) return tree.flatMap(textsBelow)
  return isElement(tree) ? ['coding', 'text', 'display', 'code', 'system', 'value'].flatMap((name) => textsBelow(tree[name])) : []
}
