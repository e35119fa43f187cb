/**
 * Operations that a CapabilityStatement names, by the canonicals of their definitions. An operation without a claim does not compile.
 * https://hl7.org/fhir/R4/operationslist.html
 */
import { DAVINCI_URL, MATCH_OPERATIONS, type MatchOperation } from '../../access/operation-scopes.ts'
import type { OperationCode } from '../../catalogue/catalogue.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import { US_CORE_URL } from './us-core-claims.ts'

/** Canonical base of Bulk Data Access. https://hl7.org/fhir/uv/bulkdata/STU2/CapabilityStatement-bulk-data.html */
export const BULK_DATA_URL = 'http://hl7.org/fhir/uv/bulkdata'

/** Claim of an operation. `of`: where the statement names it: `system`, `every type`, or a resource type. */
type OperationClaim = { readonly of: readonly string[]; readonly name: string; readonly definition: string }

const claim = (of: readonly string[], name: string, definition: string): OperationClaim => ({ of, name, definition })

/** Claims the export under two names: some clients look for the name in the URL, others for the name of the definition. */
const exportOf = (level: string, definition: string): readonly OperationClaim[] =>
  [...new Set(['export', definition])].map((name) => claim([level], name, `${BULK_DATA_URL}/OperationDefinition/${definition}`))

const matchOf = (type: string, name: MatchOperation): OperationClaim => claim([type], name, MATCH_OPERATIONS[name].scopes[0])

/** Claims an operation that this server defines. The definition is a contained resource of the statement. */
const ofServer = (name: string): OperationClaim => claim(['system'], name, `#${name}`)

/** Canonical base of the operation definitions of FHIR R4. */
const R4 = 'http://hl7.org/fhir/OperationDefinition'

/** Claims of each operation. The CapabilityStatement lists them in this order. */
export const OPERATIONS: Readonly<Record<OperationCode, readonly OperationClaim[]>> = {
  everything: [claim(['Patient'], 'everything', `${R4}/Patient-everything`)],
  export: [...exportOf('system', 'export'), ...exportOf('Patient', 'patient-export'), ...exportOf('Group', 'group-export')],
  'member-match': [matchOf('Patient', 'member-match')],
  'bulk-member-match': [matchOf('Group', 'bulk-member-match')],
  'provider-member-match': [matchOf('Group', 'provider-member-match')],
  'export-for-partner': [claim(['Group'], 'davinci-data-export', `${DAVINCI_URL}-atr/OperationDefinition/davinci-data-export`)],
  docref: [claim(['DocumentReference'], 'docref', `${US_CORE_URL}/OperationDefinition/docref`)],
  'apply-fhirpath': [ofServer('apply-fhirpath')],
  reindex: [ofServer('reindex')],
  'reindex-status': [ofServer('reindex-status')],
  meta: [claim(['system', 'every type'], 'meta', `${R4}/Resource-meta`)],
  validate: [claim(['every type'], 'validate', `${R4}/Resource-validate`)],
}

const taken = (name: string, type: string, more: Element = {}): Element => ({ name, use: 'in', min: 1, max: '1', type, ...more })
const given = (name: string, more: Element): Element => ({ name, use: 'out', min: 0, max: '1', ...more })

/** Parts of each `result` of $apply-fhirpath. It has one of `value`, `resource` and `json`. */
const PARTS_OF_RESULT: readonly Element[] = [
  given('type', { min: 1, type: 'string' }),
  given('path', { type: 'string', documentation: 'Location of the item in the resource' }),
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

/** Definitions of the operations that only this server has. https://hl7.org/fhir/R4/operationdefinition.html */
export const SERVER_OPERATIONS: readonly Resource[] = [
  defined('apply-fhirpath', {
    name: 'ApplyFHIRPath',
    title: 'Evaluates a FHIRPath expression on a resource',
    parameter: [
      taken('fhirPath', 'string'),
      taken('resource', 'Resource'),
      given('outcome', {
        min: 1,
        type: 'string',
        documentation: 'true or false if the result is one Boolean, otherwise the result as JSON',
      }),
      given('result', { max: '*', documentation: 'An item of the result', part: PARTS_OF_RESULT }),
      given('validation', { min: 1, type: 'OperationOutcome', documentation: 'Issues of the resource' }),
    ],
  }),
  defined('reindex', {
    name: 'Reindex',
    title: 'Rebuilds the index of resource types. For administrators',
    affectsState: true,
    parameter: [taken('type', 'code', { min: 0, max: '*', documentation: 'Types to rebuild. Without it, all types' })],
  }),
  defined('reindex-status', {
    name: 'ReindexStatus',
    title: 'State of the index. For administrators',
    parameter: [
      given('lag', { type: 'integer', documentation: 'Versions that are not searchable yet' }),
      given('parameter', { max: '*', documentation: 'A custom search parameter', part: PARTS_OF_PARAMETER }),
      given('rebuild', { max: '*', documentation: 'A type whose index is rebuilt', part: PARTS_OF_REBUILD }),
      given('unreadable', { max: '*', documentation: 'A version that could not be indexed completely', part: PARTS_OF_UNREADABLE }),
    ],
  }),
]

/** Returns an OperationDefinition at system level. */
function defined(code: string, more: Element): Resource {
  const known = { id: code, code, status: 'active', kind: 'operation', affectsState: false, system: true, type: false, instance: false }
  return { resourceType: 'OperationDefinition', ...known, ...more }
}

/** Returns the operations that the statement names for a type or the system. `level`: a resource type, or `system`. */
export const operationsOf = (level: string): readonly Element[] =>
  Object.values(OPERATIONS)
    .flat()
    .filter(({ of }) => of.includes(level) || (level !== 'system' && of.includes('every type')))
    .map(({ name, definition }) => ({ name, definition }))
