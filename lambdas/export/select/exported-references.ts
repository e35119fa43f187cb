/**
 * What an exported resource refers to that is exported with it. Specification 4.5: Patients always, where patients are exported; others by the
 * rules of 2.8. Most resources are not parsed for it: their text tells that they refer to nothing of interest.
 */
import { type BaseUrls, scanReferences, toLocalReference } from '../../fhir/references.ts'
import { isElement } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { cacheByText } from '../../search/interned-texts.ts'
import { type AdditionalResource, type AdditionalResources, rulesOf } from '../additional-resources.ts'
import type { ExportLevel } from '../export-request.ts'
import { compilePath, type JsonPath } from '../json-path.ts'
import { parsePlainBody } from '../versions/version-body.ts'

/** `Type/id` of each, perhaps some twice. Damaged where it holds no JSON. */
export type ReferenceFinder = (version: ResourceVersion) => readonly string[]

/** Names that are remembered: resources that follow each other refer to the same ones. */
const MOST = 5_000

/** References to other servers, and to what is contained, do not count. */
export function referenceFinder(level: ExportLevel, rules: AdditionalResources, bases: BaseUrls): ReferenceFinder {
  if (level === 'system') return () => []
  const byType = new Map(rulesOf(level, rules).map(([type, each]) => [type, each.map(compiledRule)]))
  const nameOf = cacheByText(MOST, (text): string => toLocalReference(text, bases) ?? '')
  return ({ type, deleted, body }) => {
    if (deleted) return []
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
    const text = bytes.toString('latin1')
    const found = scanReferences(text)
      .map(nameOf)
      .filter((name) => name.startsWith('Patient/'))
    const some = byType.get(type)?.filter(({ marks }) => marks.some((mark) => text.includes(mark))) ?? []
    if (some.length > 0) found.push(...ruledIn(parsePlainBody(bytes), some, nameOf))
    return found
  }
}

/** `marks`: texts of which one stands in whatever refers to one of the types. */
type Rule = { readonly path: JsonPath; readonly types: ReadonlySet<string>; readonly marks: readonly string[] }

const compiledRule = ({ path, resourceTypes }: AdditionalResource): Rule => ({
  path: compilePath(path),
  types: new Set(resourceTypes),
  marks: resourceTypes.map((type) => `${type}/`),
})

type NameOf = (text: string) => string

function* ruledIn(resource: unknown, rules: readonly Rule[], nameOf: NameOf): Iterable<string> {
  for (const { path, types } of rules)
    for (const value of path(resource)) {
      const text = isElement(value) ? value.reference : value
      const name = typeof text === 'string' ? nameOf(text) : ''
      if (types.has(name.slice(0, name.indexOf('/')))) yield name
    }
}
