/**
 * US Core in the CapabilityStatement: its profiles, and those of its required searches that this server supports.
 * https://hl7.org/fhir/us/core/STU6.1/
 */
import profiles from '../../fhir/definitions/packages/hl7.fhir.us.core-6.1.0/index.json' with { type: 'json' }
import searches from '../../fhir/definitions/packages/hl7.fhir.us.core-6.1.0/searches.json' with { type: 'json' }
import versions from '../../fhir/definitions/packages/hl7.fhir.us.core-6.1.0/versions.json' with { type: 'json' }
import type { Element } from '../../fhir/resource.ts'
import { findSearchParameter } from '../../search/parameters.ts'
import { isSearchable } from '../../search/query/criterion.ts'

export const US_CORE_URL = 'http://hl7.org/fhir/us/core'

type Searches = { readonly include?: readonly string[]; readonly combinations?: readonly (readonly string[])[] }

const searchesOf = (type: string): Searches => (searches as unknown as Readonly<Record<string, Searches>>)[type] ?? {}

const VERSIONS: Readonly<Record<string, string>> = versions

/** Returns the US Core profiles of a type as `url|version`, ordered by URL. */
export const profilesOf = (type: string): readonly string[] =>
  Object.entries(profiles)
    .flatMap(([url, about]) => (about === type ? [url] : []))
    .toSorted()
    .map((url) => `${url}|${VERSIONS[url]}`)

/**
 * Returns the values of _include that US Core requires for the type and this server supports: `Type:parameter` or `Type:parameter:Type`.
 */
export const includesOf = (type: string): readonly string[] =>
  (searchesOf(type).include ?? []).filter((include) => {
    const [source = '', code = '', target] = include.split(':')
    const parameter = findSearchParameter(source, code)
    return parameter?.type === 'reference' && (target === undefined || parameter.targets.includes(target))
  })

const COMBINATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination'

/**
 * Returns extensions with the combinations of parameters that US Core requires for the type. Omits those with a parameter that this server
 * cannot search. https://hl7.org/fhir/R4/extension-capabilitystatement-search-parameter-combination.html
 */
export const combinationsOf = (type: string): readonly Element[] =>
  (searchesOf(type).combinations ?? [])
    .filter((codes) => codes.every((code) => isKnown(type, code)))
    .map((codes) => ({ url: COMBINATION, extension: codes.map((valueString) => ({ url: 'required', valueString })) }))

function isKnown(type: string, code: string): boolean {
  const parameter = findSearchParameter(type, code)
  return parameter !== undefined && isSearchable(parameter)
}
