/** Specification 4.2, 8: which strings of a resource search passes over for their length, and what selects them. */
import { expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { findLongStrings } from '../../../lambdas/search/documents/long-strings.ts'
import { observation, patient, type Tree } from '../../fixtures/resources.ts'

const LONG = 'ä long one '.repeat(800)
const SHORT = 'x'.repeat(8_000)
const extension = [{ url: 'urn:x', valueString: LONG }]

it.each<readonly [string, Tree, readonly string[]]>([
  ['names', patient('p', { name: [{ family: LONG, given: ['x', LONG] }, { text: SHORT }] }), ['Patient.name[0].family', 'Patient.name[0].given[1]']],
  ['addresses', patient('p', { address: [{ line: [LONG], city: LONG, use: 'home' }] }), ['Patient.address[0].line[0]', 'Patient.address[0].city']],
  ['identifiers', patient('p', { identifier: [{ system: 's', value: LONG }] }), ['Patient.identifier[0].value']],
  ['types of identifiers', patient('p', { identifier: [{ type: { text: LONG }, value: 'x' }] }), ['Patient.identifier[0].type.text']],
  ['telephones', patient('p', { telecom: [{ system: 'phone', value: LONG }] }), ['Patient.telecom[0].value']],
  ['displays of codes', observation('o', { code: { coding: [{ display: LONG }], text: LONG } }), ['Observation.code.coding[0].display', 'Observation.code.text']],
  ['a choice', observation('o', { valueString: LONG }), ['Observation.value']],
  ['a component', observation('o', { component: [{ code: { text: LONG } }] }), ['Observation.component[0].code.text']],
  ['targets of references', observation('o', { subject: `http://example.org/${LONG.replaceAll(' ', '-')}` }), ['Observation.subject.reference']],
  ['identifiers in references', { ...observation('o'), subject: { identifier: { value: LONG } } }, ['Observation.subject.identifier.value']],
  ['names, and no narrative', patient('p', { text: { status: 'generated', div: LONG }, name: [{ text: LONG }] }), ['Patient.name[0].text']],
  ['no displays of references, notes or extensions', { ...observation('o', { note: [{ text: LONG }], extension }), subject: { display: LONG } }, []],
  ['nothing in contained resources', patient('p', { contained: [patient('c', { name: [{ family: LONG }], extension })] }), []],
])('long strings are found in %s', (_, resource, expected) => expect(findLongStrings(resource as Resource)).toEqual(expected)) // biome-ignore format: a table
