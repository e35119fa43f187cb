/** Requirements of a CapabilityStatement, beside the claims of this server. */
import { describe, expect, it } from '@jest/globals'
import type { Element, Resource } from '../../lambdas/fhir/resource.ts'
import { claimsOf } from '../../lambdas/interactions/capabilities/capabilities.ts'
import { missingCapabilities } from '../../lambdas/interactions/capabilities/missing-capabilities.ts'
import { requirementFilesOf } from '../../lambdas/packages/required-capabilities.ts'
import type { CapabilityRequirements } from '../../lambdas/ports/definitions/package-definitions.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'

const URL = 'http://example.org/CapabilityStatement/server'
const EXPECTATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-expectation'
const COMBINATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination'

const marked = (valueCode: string, element: Element = {}): Element => ({ ...element, extension: [{ url: EXPECTATION, valueCode }] })
const combined = (valueCode: string, ...codes: readonly string[]): Element => ({
  url: COMBINATION,
  extension: [{ url: EXPECTATION, valueCode }, ...codes.map((valueString) => ({ url: 'required', valueString }))],
})

const statement = (resource: Element, more: Element = {}): Resource => ({
  ...{ resourceType: 'CapabilityStatement', url: URL, version: '1.0.0', status: 'active', kind: 'requirements' },
  rest: [{ mode: 'server', resource: [{ type: 'Patient', ...resource }] }],
  ...more,
})

const requirementsOf = (...statements: readonly Resource[]): readonly CapabilityRequirements[] =>
  requirementFilesOf(statements).flatMap(([, text]) => Object.values(JSON.parse(text)) as CapabilityRequirements[])

const claims = claimsOf(readConfig({}), {})
const missing = (resource: Element): readonly string[] =>
  requirementsOf(statement(resource)).flatMap((each) => missingCapabilities(each, claims))

describe('The requirements of a CapabilityStatement', () => {
  it('are met by interactions, parameters, includes, operations and combinations of this server', () => {
    const fine = {
      interaction: [marked('SHALL', { code: 'read' }), marked('SHALL', { code: 'search-type' })],
      searchParam: [marked('SHALL', { name: '_id' }), marked('SHALL', { name: 'birthdate' })],
      operation: [marked('SHALL', { name: 'everything', definition: 'http://hl7.org/fhir/OperationDefinition/Patient-everything|4.0.1' })],
      searchInclude: ['Patient:organization', 'Patient:*', 'Patient:general-practitioner:Practitioner'],
      searchRevInclude: ['Provenance:target'],
      extension: [combined('SHALL', 'birthdate', 'family')],
    }
    expect(missing(fine)).toEqual([])
  })

  it('are named in one line each if this server lacks them, also without a mark', () => {
    const lacking = {
      interaction: [marked('SHALL', { code: 'dance' }), { code: 'sing' }],
      searchParam: [marked('SHALL', { name: 'shoe-size' })],
      operation: [marked('SHALL', { name: 'greet', definition: 'http://example.org/greet' })],
      searchInclude: ['Patient:shoe', 'Patient:organization:Device'],
      searchRevInclude: ['Shoe:owner'],
      extension: [combined('SHALL', 'birthdate', 'shoe-size')],
    }
    expect(missing(lacking)).toEqual([
      'Patient: interaction dance',
      'Patient: interaction sing',
      'Patient: search parameter shoe-size',
      'Patient: _include Patient:shoe',
      'Patient: _include Patient:organization:Device',
      'Patient: _revinclude Shoe:owner',
      'Patient: operation http://example.org/greet',
      'Patient: combination birthdate + shoe-size',
    ])
    expect(missing({ type: 'Shoe' })).toEqual(['Shoe: resource type'])
  })

  it('leave out parts that are marked SHOULD or MAY', () => {
    const optional = {
      interaction: [marked('SHOULD', { code: 'dance' })],
      searchInclude: ['Patient:shoe'],
      _searchInclude: [marked('MAY')],
      extension: [combined('SHOULD', 'birthdate', 'shoe-size')],
    }
    expect(missing(optional)).toEqual([])
  })

  it('are read from statements for servers only, unless these are retired or import others', () => {
    const others = [
      { kind: 'instance' },
      { status: 'retired' },
      { imports: ['http://example.org/CapabilityStatement/other'] },
      { rest: [{ mode: 'client' }] },
      { url: undefined },
      { rest: 'server' },
    ]
    expect(requirementsOf(...others.map((more) => statement({}, more)))).toEqual([])
    expect(requirementsOf(statement({}), statement({}, { version: undefined })).map(({ canonical }) => canonical)).toEqual([
      `${URL}|1.0.0`,
      URL,
    ])
  })
})
