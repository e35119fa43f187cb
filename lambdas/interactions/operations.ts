/** The operations a CapabilityStatement names, by the canonicals of their definitions. https://hl7.org/fhir/R4/operationslist.html */
import type { Element, Resource } from '../fhir/resource.ts'
import { US_CORE } from './us-core.ts'

/** https://hl7.org/fhir/uv/bulkdata/STU2/CapabilityStatement-bulk-data.html */
export const BULK_DATA = 'http://hl7.org/fhir/uv/bulkdata'

const named = (name: string, definition: string): Element => ({ name, definition })

/** Clients look for the name it is called by, or for that of its definition. */
const exportAs = (definition: string): readonly Element[] =>
  [...new Set(['export', definition])].map((name) => named(name, `${BULK_DATA}/OperationDefinition/${definition}`))

const ofResource = (name: string): Element => named(name, `http://hl7.org/fhir/OperationDefinition/Resource-${name}`)

const EVERYWHERE: readonly Element[] = [ofResource('meta')]
const OF_TYPES: readonly Element[] = [ofResource('validate')]

/** Of the system, and of some types. */
const OWN: Readonly<Record<string, readonly Element[]>> = {
  system: exportAs('export'),
  Patient: [named('everything', 'http://hl7.org/fhir/OperationDefinition/Patient-everything'), ...exportAs('patient-export')],
  Group: exportAs('group-export'),
  DocumentReference: [named('docref', `${US_CORE}/OperationDefinition/docref`)],
}

/** Specification 4.4: an operation of this server, whose definition stands in the statement itself. */
export const APPLY_FHIRPATH: Element = named('apply-fhirpath', '#apply-fhirpath')

const taken = (name: string, type: string): Element => ({ name, use: 'in', min: 1, max: '1', type })
const given = (name: string, more: Element): Element => ({ name, use: 'out', min: 0, max: '1', ...more })

/** An item has one of the last three. */
const PARTS_OF_RESULT: readonly Element[] = [
  given('type', { min: 1, type: 'string' }),
  given('path', { type: 'string', documentation: 'Where the item stands in the resource' }),
  given('value', { type: 'Element' }),
  given('resource', { type: 'Resource' }),
  given('json', { type: 'string' }),
]

/** https://hl7.org/fhir/R4/operationdefinition.html */
export const OWN_DEFINITIONS: readonly Resource[] = [
  {
    resourceType: 'OperationDefinition',
    id: 'apply-fhirpath',
    name: 'ApplyFHIRPath',
    title: 'What a FHIRPath expression finds in a resource',
    status: 'active',
    kind: 'operation',
    affectsState: false,
    code: 'apply-fhirpath',
    system: true,
    type: false,
    instance: false,
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
  },
]

/** `of`: a type, or `system`. */
export const operationsOf = (of: string): readonly Element[] => [...(OWN[of] ?? []), ...EVERYWHERE, ...(of === 'system' ? [] : OF_TYPES)]
