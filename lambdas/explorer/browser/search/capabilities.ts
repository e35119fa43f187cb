/** Search parameters and their values, as the CapabilityStatement of the server lists them. */
import { isTree, type Json, listOf, type Tree, textOf, treesOf } from '../json.ts'
import type { Parameter } from './query-rows.ts'

/** `valuesOf`: values that complete the parameter of this name. */
export type Capabilities = {
  readonly parameters: ReadonlyMap<string, Parameter>
  readonly names: readonly string[]
  readonly valuesOf: (name: string) => readonly string[]
}

/** Parameters of every search that shape the response. The statement of a FHIR server does not list them. https://hl7.org/fhir/R4/search.html#return */
const RESULT_PARAMETERS: readonly string[] = [
  ...['_sort', '_count', '_include', '_include:iterate', '_revinclude', '_revinclude:iterate'],
  ...['_total', '_summary', '_elements'],
]

/** Returns the capabilities for searches of a type, or of all types. Skips malformed parts of the statement. `statement`: undefined if it was not read. */
export function capabilitiesOf(statement: Json | undefined, type: string | undefined): Capabilities {
  const [rest = {}] = treesOf(isTree(statement) ? statement.rest : undefined)
  const resources = treesOf(rest.resource)
  const resource = resources.find((each) => type !== undefined && each.type === type) ?? {}
  const listed = [...treesOf(resource.searchParam), ...treesOf(rest.searchParam)]
  const parameters = new Map<string, Parameter>()
  const targets = targetsOf(resources)
  for (const each of listed) {
    const name = textOf(each.name)
    if (name === undefined || name === '' || parameters.has(name)) continue
    const documentation = textOf(each.documentation)
    const known = { name, type: textOf(each.type) ?? '', targets: targets.get(`${type}:${name}`) ?? [] }
    parameters.set(name, { ...known, ...(documentation === undefined ? {} : { documentation }) })
  }
  const sortable = [...parameters.values()]
    .filter(({ name, type }) => type !== 'composite' && type !== 'special' && !/^_(?:group|skip|page)/.test(name))
    .map(({ name }) => name)
  return {
    parameters,
    names: [...new Set([...parameters.keys(), ...RESULT_PARAMETERS, ...(type === undefined ? ['_type'] : [])])],
    valuesOf: (name) => valuesOf(name, sortable, resource),
  }
}

function valuesOf(name: string, sortable: readonly string[], { searchInclude, searchRevInclude }: Tree): readonly string[] {
  const [base] = name.split(':')
  const textsOf = (list: Json | undefined) => listOf(list).flatMap((each) => textOf(each) ?? [])
  if (base === '_sort' || base === '_groupSort') return sortable.flatMap((code) => [code, `-${code}`])
  if (base === '_group') return sortable
  if (base === '_include') return textsOf(searchInclude)
  if (base === '_revinclude') return textsOf(searchRevInclude)
  if (base === '_total') return ['none', 'estimate', 'accurate']
  return base === '_summary' ? ['true', 'text', 'data', 'count', 'false'] : []
}

/** Returns the types that each reference parameter, such as `Observation:subject`, may refer to: those whose `searchRevInclude` lists it. */
function targetsOf(resources: readonly Tree[]): ReadonlyMap<string, readonly string[]> {
  const targets = new Map<string, string[]>()
  for (const { type, searchRevInclude } of resources)
    for (const each of listOf(searchRevInclude)) {
      const [reference, target] = [textOf(each), textOf(type)]
      if (reference === undefined || target === undefined) continue
      const others = targets.get(reference)
      if (others === undefined) targets.set(reference, [target])
      else others.push(target)
    }
  return targets
}
