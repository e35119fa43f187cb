/** The operations a CapabilityStatement names, by the canonicals of their definitions. https://hl7.org/fhir/R4/operationslist.html */
import type { Element } from '../fhir/resource.ts'
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

/** Specification 4.4: an operation of this server. */
export const applyFhirPath = (baseUrl: string): Element => named('apply-fhirpath', `${baseUrl}/OperationDefinition/apply-fhirpath`)

/** `of`: a type, or `system`. */
export const operationsOf = (of: string): readonly Element[] => [...(OWN[of] ?? []), ...EVERYWHERE, ...(of === 'system' ? [] : OF_TYPES)]
