/** Operations that a CapabilityStatement names, by the canonicals of their definitions. https://hl7.org/fhir/R4/operationslist.html */
import type { Element, Resource } from '../../fhir/resource.ts'
import { US_CORE_URL } from './us-core-claims.ts'

/** Canonical base of Bulk Data Access. https://hl7.org/fhir/uv/bulkdata/STU2/CapabilityStatement-bulk-data.html */
export const BULK_DATA_URL = 'http://hl7.org/fhir/uv/bulkdata'

const named = (name: string, definition: string): Element => ({ name, definition })

/** Returns the operation under two names: some clients look for the name in the URL, others for the name of the definition. */
const exportAs = (definition: string): readonly Element[] =>
  [...new Set(['export', definition])].map((name) => named(name, `${BULK_DATA_URL}/OperationDefinition/${definition}`))

const ofResource = (name: string): Element => named(name, `http://hl7.org/fhir/OperationDefinition/Resource-${name}`)

const EVERYWHERE: readonly Element[] = [ofResource('meta')]
const OF_TYPES: readonly Element[] = [ofResource('validate')]

/**
 * Operations of the system and of some types. $apply-fhirpath (specification 4.4) and the operations for operators are defined by this
 * server: the statement contains their definitions.
 */
const OWN: Readonly<Record<string, readonly Element[]>> = {
  system: [...exportAs('export'), ...['apply-fhirpath', 'reindex', 'reindex-status'].map((name) => named(name, `#${name}`))],
  Patient: [named('everything', 'http://hl7.org/fhir/OperationDefinition/Patient-everything'), ...exportAs('patient-export')],
  Group: exportAs('group-export'),
  DocumentReference: [named('docref', `${US_CORE_URL}/OperationDefinition/docref`)],
}

const taken = (name: string, type: string, more: Element = {}): Element => ({ name, use: 'in', min: 1, max: '1', type, ...more })
const given = (name: string, more: Element): Element => ({ name, use: 'out', min: 0, max: '1', ...more })

/** Parts of a result. An item has one of `value`, `resource` and `json`. */
const PARTS_OF_RESULT: readonly Element[] = [
  given('type', { min: 1, type: 'string' }),
  given('path', { type: 'string', documentation: 'Where the item stands in the resource' }),
  given('value', { type: 'Element' }),
  given('resource', { type: 'Resource' }),
  given('json', { type: 'string' }),
]

const PARTS_OF_PARAMETER: readonly Element[] = [
  given('resource', { min: 1, type: 'Reference' }),
  given('base', { min: 1, type: 'code' }),
  given('code', { min: 1, type: 'code' }),
  given('state', { min: 1, type: 'code' }),
]

const PARTS_OF_REBUILD: readonly Element[] = [
  given('type', { min: 1, type: 'code' }),
  given('done', { min: 1, type: 'integer', documentation: 'Resources' }),
  given('total', { type: 'integer' }),
]

const PARTS_OF_UNREADABLE: readonly Element[] = [
  given('resource', { min: 1, type: 'Reference' }),
  given('reason', { min: 1, type: 'string' }),
]

/** Definitions of the server's own operations. https://hl7.org/fhir/R4/operationdefinition.html */
export const SERVER_OPERATIONS: readonly Resource[] = [
  defined('apply-fhirpath', {
    name: 'ApplyFHIRPath',
    title: 'What a FHIRPath expression finds in a resource',
    parameter: [
      taken('fhirPath', 'string'),
      taken('resource', 'Resource'),
      given('outcome', {
        min: 1,
        type: 'string',
        documentation: 'true or false, where that is all the expression finds; else JSON of what it finds',
      }),
      given('result', { max: '*', documentation: 'Each item', part: PARTS_OF_RESULT }),
      given('validation', { min: 1, type: 'OperationOutcome', documentation: 'What is wrong with the resource' }),
    ],
  }),
  defined('reindex', {
    name: 'Reindex',
    title: 'Makes the index of resource types anew, for administrators',
    affectsState: true,
    parameter: [taken('type', 'code', { min: 0, max: '*', documentation: 'Without one all types' })],
  }),
  defined('reindex-status', {
    name: 'ReindexStatus',
    title: 'How far the index is, for administrators',
    parameter: [
      given('lag', { type: 'integer', documentation: 'Versions that are not searchable yet' }),
      given('parameter', { max: '*', documentation: 'A search parameter somebody defined', part: PARTS_OF_PARAMETER }),
      given('rebuild', { max: '*', documentation: 'A type whose index is made anew', part: PARTS_OF_REBUILD }),
      given('unreadable', { max: '*', documentation: 'A version that could not be indexed as a whole', part: PARTS_OF_UNREADABLE }),
    ],
  }),
]

/** Returns the definition of an operation of the system. */
function defined(code: string, more: Element): Resource {
  const known = { id: code, code, status: 'active', kind: 'operation', affectsState: false, system: true, type: false, instance: false }
  return { resourceType: 'OperationDefinition', ...known, ...more }
}

/** Returns the operations of a type or of the system. `of`: a type, or `system`. */
export const operationsOf = (of: string): readonly Element[] => [...(OWN[of] ?? []), ...EVERYWHERE, ...(of === 'system' ? [] : OF_TYPES)]
