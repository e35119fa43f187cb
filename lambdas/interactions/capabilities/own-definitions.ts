/**
 * Contents of the CapabilityStatement that R4 does not define: the server's own extensions, and parameters that every search accepts.
 * https://hl7.org/fhir/R4/extensibility.html
 */
import { PARAMETER_STATE_EXTENSION, SEARCH_GROUP_EXTENSION } from '../../fhir/own-extensions.ts'
import type { Element, Resource } from '../../fhir/resource.ts'

const STRUCTURE = 'http://hl7.org/fhir/StructureDefinition'

type ExtensionElement = { readonly path: string; readonly [field: string]: unknown }

/** Returns the definition of an extension of one element. `elements`: its elements that differ from Extension. */
const extension = (url: string, name: string, title: string, context: string, elements: readonly ExtensionElement[]): Resource => ({
  ...{ resourceType: 'StructureDefinition', id: url.split(':').at(-1)!, url, name, title, status: 'active', fhirVersion: '4.0.1' },
  ...{ kind: 'complex-type', abstract: false, context: [{ type: 'element', expression: context }], type: 'Extension' },
  ...{ baseDefinition: `${STRUCTURE}/Extension`, derivation: 'constraint' },
  differential: {
    element: [{ id: 'Extension', path: 'Extension', short: title }, ...elements.map((each) => ({ id: each.path, ...each }))],
  },
})

/** Returns the elements of one part of a complex extension. */
const part = (name: string, type: string, short: string): readonly ExtensionElement[] => [
  { id: `Extension.extension:${name}`, path: 'Extension.extension', sliceName: name, min: 1, max: '1', short },
  { id: `Extension.extension:${name}.url`, path: 'Extension.extension.url', fixedUri: name },
  { id: `Extension.extension:${name}.value[x]`, path: 'Extension.extension.value[x]', min: 1, type: [{ code: type }] },
]

export const SERVER_EXTENSIONS: readonly Resource[] = [
  extension(SEARCH_GROUP_EXTENSION, 'SearchGroup', 'Group of a search with _group', 'Bundle.entry.search', [
    ...part('key', 'string', 'Value by which the resource is grouped'),
    ...part('size', 'integer', 'Number of resources in the group'),
    { path: 'Extension.url', fixedUri: SEARCH_GROUP_EXTENSION },
    { path: 'Extension.value[x]', max: '0' },
  ]),
  extension(PARAMETER_STATE_EXTENSION, 'SearchParameterState', 'Whether searches use the parameter', 'SearchParameter', [
    { path: 'Extension.extension', max: '0' },
    { path: 'Extension.url', fixedUri: PARAMETER_STATE_EXTENSION },
    { path: 'Extension.value[x]', min: 1, type: [{ code: 'code' }], short: 'active or building' },
  ]),
]

/**
 * Extensions by the resource type that carries them. The statement lists them as profiles of that type, because a contained resource must
 * be referenced.
 */
const EXTENDED: Readonly<Record<string, readonly string[]>> = { Bundle: ['#search-group'], SearchParameter: ['#search-parameter-state'] }

export const serverProfilesOf = (type: string): readonly string[] => EXTENDED[type] ?? []

/** Parameters of every search for which R4 defines no SearchParameter. */
export const SERVER_PARAMETERS: readonly Element[] = [
  { name: '_has', type: 'special', documentation: 'Reverse chain: _has:Type:reference parameter:parameter=value' },
  {
    name: '_group',
    type: 'string',
    documentation: 'Groups matches by a search parameter or an element: code, code:code or code:system|code',
  },
  { name: '_groupSort', type: 'string', documentation: 'Orders the resources of each group by search parameters, with - for descending' },
  { name: '_groupCount', type: 'number', documentation: 'Number of resources returned for each group, 1 to 100' },
  { name: '_skip', type: 'number', documentation: 'Number of matches to skip, at most 10,000' },
  { name: '_page', type: 'number', documentation: 'Number of pages to skip' },
]
