/** Definitions of two tenants, and requests that look them up, name them or meet what is under their names. */

import type { RequestContent } from '../site.ts'
import type { Json } from './oracle.ts'

const R4 = 'http://hl7.org/fhir/StructureDefinition/'
export const urlOf = (name: string): string => `http://example.org/${name}`

/** Of Observation. What nobody needs to know of it is marked. */
export const profile = (name: string, required: string, binding?: string): Json => ({
  ...{ resourceType: 'StructureDefinition', id: name, url: urlOf(name), version: '1', name: 'Own', status: 'active', kind: 'resource' },
  ...{ abstract: false, type: 'Observation', baseDefinition: `${R4}Observation`, derivation: 'constraint' },
  ...{ title: 'SECRET title', description: 'SECRET description', publisher: 'SECRET publisher', purpose: 'SECRET purpose' },
  differential: {
    element: [
      {
        ...{ id: `Observation.${required}`, path: `Observation.${required}`, min: 1 },
        ...{ short: 'SECRET short', definition: 'SECRET definition', comment: 'SECRET comment', alias: ['SECRET alias'] },
      },
      ...(binding === undefined
        ? []
        : [{ id: 'Observation.code', path: 'Observation.code', binding: { strength: 'required', valueSet: urlOf(binding) } }]),
    ],
  },
})
export const valueSet = (name: string, system: string): Json => ({
  ...{ resourceType: 'ValueSet', id: name, url: urlOf(name), status: 'active', description: 'SECRET description' },
  compose: { include: [{ system: urlOf(system), filter: [{ property: 'concept', op: 'is-a', value: 'red' }] }] },
})
export const codeSystem = (name: string, ...codes: readonly string[]): Json => ({
  ...{ resourceType: 'CodeSystem', id: name, url: urlOf(name), status: 'active', content: 'complete' },
  concept: codes.map((code) => ({ code, display: 'SECRET display' })),
})

/** The other tenant has more: what is named and not there, and something else under the same names. */
export const OWN_DEFINITIONS = [profile('both', 'method', 'colours'), profile('hidden', 'method'), codeSystem('both-codes', 'red')]
export const OTHER_TENANT_DEFINITIONS = [
  ...[profile('both', 'note'), profile('only-other', 'note'), profile('hidden', 'note')],
  ...[valueSet('colours', 'paint'), codeSystem('paint', 'red'), codeSystem('both-codes', 'green')],
]

const about = (more: Json = {}): Json => ({
  ...{ resourceType: 'Observation', status: 'final', subject: { reference: 'Patient/a.id' } },
  ...{ text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' } },
  ...{ code: { coding: [{ system: urlOf('paint'), code: 'blue' }] }, method: { text: 'x' }, ...more },
})
const naming = (...names: readonly string[]): Json => about({ meta: { profile: names.map(urlOf) } })
const applied = (resource: Json): Json => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'fhirPath', valueString: 'exists()' },
    { name: 'resource', resource },
  ],
})

export const JSON_PATCH = { 'content-type': 'application/json-patch+json' }

export type Request = readonly [method: string, target: string, sent?: RequestContent]
const NAMES = ['both', 'only-other', 'hidden', 'never']

/** In the order in which they are asked. */
export const REQUESTS: readonly Request[] = [
  ['GET', '/metadata'],
  ...['StructureDefinition', 'ValueSet', 'CodeSystem'].flatMap((type): readonly Request[] => [
    ...[`/${type}?_summary=count`, `/${type}?_sort=_id`, `/${type}/_history`, `/${type}?url=${urlOf('paint')}`].map(
      (target) => ['GET', target] as const,
    ),
    ...['both', 'only-other', 'paint', 'never'].map((id) => ['GET', `/${type}/${id}`] as const),
    ['GET', `/${type}/only-other/_history`],
  ]),
  ...NAMES.flatMap((name): readonly Request[] => [
    ['POST', `/Observation/$validate?profile=${urlOf(name)}`, { body: about() }],
    ['POST', `/Observation/$validate?profile=${urlOf(name)}|1`, { body: about({ method: undefined }) }],
    ['POST', '/Observation/$validate', { body: naming(name, 'both') }],
    ['POST', '/$apply-fhirpath', { body: applied(naming(name)) }],
    ['PUT', `/Observation/${name}`, { body: { ...naming(name), id: name } }],
    ['POST', '/Observation', { body: { ...naming(name, 'both'), id: `${name}-2` }, headers: { prefer: 'return=OperationOutcome' } }],
    ['PATCH', `/Observation/${name}`, { body: Buffer.from('[{"op":"remove","path":"/method"}]'), headers: JSON_PATCH }],
    ...['batch', 'transaction'].map((type): Request => {
      const request = { method: 'PUT', url: `Observation/${name}-${type}` }
      const entry = [{ request, resource: { ...naming(name), id: `${name}-${type}` } }]
      return ['POST', '', { body: { resourceType: 'Bundle', type, entry }, headers: { prefer: 'return=OperationOutcome' } }]
    }),
    ['GET', `/Observation?_profile=${urlOf(name)}`],
  ]),
  ['GET', '/$meta'],
  ['GET', '/_history?_count=5'],
]
