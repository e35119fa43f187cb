/** Groups of a search with `_group`. Each entry names the group that it belongs to. */
import { isTree, type Tree, textOf, treesOf } from '../json.ts'

/** Extension of `Bundle.entry.search`, as the CapabilityStatement defines it. */
const SEARCH_GROUP = 'urn:fhir-serverless:StructureDefinition:search-group'

/** Resources that a table shows below one heading. `heading`: absent if the search has no groups. */
export type Section = { readonly heading?: string; readonly resources: readonly Tree[] }

/** Returns the resources of these entries in sections, one for each group, and one for included resources. */
export function sectionsOf(entries: readonly Tree[]): readonly Section[] {
  const sections: { heading: string | undefined; resources: Tree[] }[] = []
  const hasGroups = entries.some((entry) => headingOf(entry) !== undefined)
  for (const entry of entries) {
    if (!isTree(entry.resource)) continue
    const heading = headingOf(entry) ?? (hasGroups ? 'Included resources' : undefined)
    const last = sections.at(-1)
    if (last !== undefined && last.heading === heading) last.resources.push(entry.resource)
    else sections.push({ heading, resources: [entry.resource] })
  }
  return sections.map(({ heading, resources }) => ({ ...(heading === undefined ? {} : { heading }), resources }))
}

/** Returns key and size of the group of an entry, or undefined if it has none. */
function headingOf({ search }: Tree): string | undefined {
  const group = treesOf(isTree(search) ? search.extension : undefined).find(({ url }) => url === SEARCH_GROUP)
  if (group === undefined) return undefined
  const partOf = (name: string) => treesOf(group.extension).find(({ url }) => url === name)
  const size = Number(textOf(partOf('size')?.valueInteger))
  return `${textOf(partOf('key')?.valueString) ?? ''} (${size.toLocaleString('en')} ${size === 1 ? 'resource' : 'resources'})`
}
