/** Generates the search data of a package: parameters that R4 lacks, and searches that its CapabilityStatement requires of servers. */
import type { Resource } from '../../lambdas/fhir/resource.ts'
import type { DefinitionArchive } from './archive.ts'
import { readSearchParameters, type SearchParameterResource } from './hl7.ts'
import { toJsonLines } from './lines.ts'
import { PACKAGES_FOLDER } from './packages.ts'

/** Required searches by resource type. `include`: values of _include. `combinations`: parameters that clients search by together. */
type Searches = Readonly<Record<string, { readonly include?: readonly string[]; readonly combinations?: readonly (readonly string[])[] }>>

/** Returns the generated files: path → text. */
export const generateSearches = ({ name, version, definitions }: DefinitionArchive): ReadonlyMap<string, string> =>
  new Map([
    [`search-mappings/packages/${name}-${version}.json`, toJsonLines(addedParameters(definitions))],
    [`${PACKAGES_FOLDER}/${name}-${version}/searches.json`, toJsonLines(requiredSearches(definitions))],
  ])

const definitionsOfType = <Definition>(definitions: readonly Resource[], type: string): readonly Definition[] =>
  definitions.filter(({ resourceType }) => resourceType === type) as readonly unknown[] as readonly Definition[]

/** Returns the parameters that R4 lacks. If R4 has a parameter with the same code, R4's applies. */
function addedParameters(definitions: readonly Resource[]): readonly SearchParameterResource[] {
  const codes = new Set(readSearchParameters().flatMap(({ base = [], code }) => base.map((type) => `${type} ${code}`)))
  const isKnown = (type: string, code: string): boolean => codes.has(`${type} ${code}`) || codes.has(`Resource ${code}`)
  return definitionsOfType<SearchParameterResource>(definitions, 'SearchParameter').flatMap(
    ({ id, url, code, type, base = [], expression, target }) => {
      const own = base.filter((each) => !isKnown(each, code))
      return own.length === 0 ? [] : [{ id, url, code, type, base: own, expression, ...(target === undefined ? {} : { target }) }]
    },
  )
}

type Extension = { readonly url: string; readonly valueString?: string; readonly extension?: readonly Extension[] }
type RequiredSearches = { readonly type: string; readonly searchInclude?: readonly string[]; readonly extension?: readonly Extension[] }
type Statement = {
  readonly id: string
  readonly rest: readonly { readonly mode: string; readonly resource: readonly RequiredSearches[] }[]
}

/** Extension for a combination: https://hl7.org/fhir/R4/extension-capabilitystatement-search-parameter-combination.html */
const COMBINATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination'

function requiredSearches(definitions: readonly Resource[]): Searches {
  const serverRequirements = definitionsOfType<Statement>(definitions, 'CapabilityStatement').flatMap(({ rest }) =>
    rest.filter(({ mode }) => mode === 'server'),
  )
  const required = serverRequirements
    .flatMap(({ resource }) => resource)
    .map(({ type, searchInclude, extension = [] }) => {
      const combinations = extension.filter(({ url }) => url === COMBINATION).map(parametersIn)
      return [
        type,
        { ...(searchInclude === undefined ? {} : { include: searchInclude }), ...(combinations.length === 0 ? {} : { combinations }) },
      ] as const
    })
  return Object.fromEntries(required.filter(([, searches]) => Object.keys(searches).length > 0))
}

const parametersIn = ({ extension = [] }: Extension): readonly string[] =>
  extension.flatMap(({ url, valueString }) => (url === 'required' && valueString !== undefined ? [valueString] : []))
