/**
 * References that an export follows from its resources. Specification 4.5: Patient and Group exports include all Patients that an exported
 * resource refers to. The rules of 2.8 add other types. Most resources are not parsed: their text shows that they hold no relevant
 * reference.
 */
import { type BaseUrls, scanReferences, toLocalReference } from '../../fhir/references.ts'
import { isElement } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { cacheByText } from '../../search/interned-texts.ts'
import { type AdditionalResource, type AdditionalResources, rulesOf } from '../additional-resources.ts'
import type { ExportLevel } from '../export-request.ts'
import { compilePath, type JsonPath } from '../json-path.ts'
import { parsePlainBody } from '../versions/version-body.ts'

/**
 * Returns references such as `Type/id`, with possible duplicates. Throws the fault `store-damaged` if the body must be parsed and is not
 * JSON.
 */
export type ReferenceFinder = (version: ResourceVersion) => readonly string[]

/** Maximum cached references. Consecutive resources often refer to the same ones. */
const MAX_CACHED = 5_000

/**
 * Returns the finder for a level. References to other servers and to contained resources are ignored. System exports follow no references.
 * `isNamed`: true to follow only the rules for resources that another resource names.
 */
export function referenceFinder(
  level: ExportLevel,
  rules: AdditionalResources,
  bases: BaseUrls,
  { isNamed = false }: { readonly isNamed?: boolean } = {},
): ReferenceFinder {
  if (level === 'system') return () => []
  const rulesByType = new Map(
    rulesOf(level, rules).map(([type, each]) => [type, each.filter(({ onlyIfNamed = false }) => onlyIfNamed === isNamed).map(compileRule)]),
  )
  const nameOf = cacheByText(MAX_CACHED, (text): string => toLocalReference(text, bases) ?? '')
  return ({ type, deleted, body }) => {
    if (deleted) return []
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
    const text = bytes.toString('latin1')
    const found = isNamed
      ? []
      : scanReferences(text)
          .map(nameOf)
          .filter((name) => name.startsWith('Patient/'))
    const applicable = rulesByType.get(type)?.filter(({ substrings }) => substrings.some((substring) => text.includes(substring))) ?? []
    if (applicable.length > 0) found.push(...referencesByRules(parsePlainBody(bytes), applicable, nameOf))
    return found
  }
}

/** `substrings`: texts such as `Type/`. A body without any of them refers to none of the types. */
type Rule = { readonly path: JsonPath; readonly types: ReadonlySet<string>; readonly substrings: readonly string[] }

const compileRule = ({ path, resourceTypes }: AdditionalResource): Rule => ({
  path: compilePath(path),
  types: new Set(resourceTypes),
  substrings: resourceTypes.map((type) => `${type}/`),
})

type NameOf = (text: string) => string

function* referencesByRules(resource: unknown, rules: readonly Rule[], nameOf: NameOf): Iterable<string> {
  for (const { path, types } of rules)
    for (const value of path(resource)) {
      const text = isElement(value) ? value.reference : value
      const name = typeof text === 'string' ? nameOf(text) : ''
      if (types.has(name.slice(0, name.indexOf('/')))) yield name
    }
}
