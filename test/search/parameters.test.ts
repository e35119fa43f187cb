/** FHIR R4, search parameters: the registry. https://hl7.org/fhir/R4/searchparameter-registry.html */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { customMappingsOf } from '../../lambdas/search/custom/custom-parameters.ts'
import { findSearchParameter, parametersOf } from '../../lambdas/search/parameters.ts'
import { readSearchParameters } from '../../search-mappings/generate/hl7.ts'
import { seeds } from '../fixtures/validation/seeds.ts'

const MAPPINGS = join(import.meta.dirname, '../../search-mappings')

const valuesAt = (resource: Resource, code: string) => findSearchParameter(resource.resourceType, code)?.values(resource)

describe('the registry', () => {
  it('has parameters for each of the 146 types, those of every resource first', () => {
    for (const type of resourceTypes)
      expect(
        parametersOf(type)
          .slice(0, 6)
          .map(({ code }) => code),
      ).toEqual(['_id', '_lastUpdated', '_profile', '_security', '_source', '_tag'])
    expect(parametersOf('Resource')).toHaveLength(6)
    expect(parametersOf('Observation')).toHaveLength(49)
  })

  it('has nothing for unknown types and parameters', () => {
    expect(parametersOf('Patent')).toEqual([])
    expect(parametersOf('constructor')).toEqual([])
    expect(findSearchParameter('Patient', 'toString')).toBeUndefined()
    expect(findSearchParameter('Patient', 'colour')).toBeUndefined()
  })

  it('has each code once for a type', () => {
    for (const type of resourceTypes) {
      const codes = parametersOf(type).map(({ code }) => code)
      expect(new Set(codes).size).toBe(codes.length)
    }
  })

  it('has every parameter of R4 with an expression', () => {
    const missing = readSearchParameters().flatMap(({ base = [], code, expression }) =>
      base
        .filter((type) => type !== 'DomainResource' && findSearchParameter(type, code) === undefined)
        .map((type) => `${type} ${code} ${expression}`),
    )
    expect(missing).toEqual([
      'Resource _content undefined',
      'Resource _query undefined',
      'Resource _filter undefined',
      'Patient age undefined',
      'Patient birthOrderBoolean undefined',
    ])
  })

  it('has a file for each type, and no others', () => {
    const files = readdirSync(MAPPINGS).filter((file) => file.endsWith('.json'))
    expect(files.sort()).toEqual([...resourceTypes, 'Resource', 'number'].map((type) => `${type}.json`).sort())
  })

  it('has the target types of references', () => {
    expect(findSearchParameter('Observation', 'encounter')?.targets).toEqual(['Encounter', 'EpisodeOfCare'])
    expect(findSearchParameter('Observation', 'focus')?.targets).toEqual(resourceTypes)
    expect(findSearchParameter('Observation', 'status')?.targets).toEqual([])
  })
})

describe('the values of a parameter', () => {
  it.each([
    ['patient', '_id', [{ type: 'id', value: 'p1' }]],
    ['patient', '_lastUpdated', [{ type: 'instant', value: '2024-02-29T10:15:30.123+01:00' }]],
    ['patient', '_profile', [{ type: 'canonical', value: 'http://example.org/profile' }]],
    [
      'patient',
      'given',
      [
        { type: 'string', value: 'Peter' },
        { type: 'string', value: 'James' },
      ],
    ],
    ['patient', 'phone', [{ type: 'ContactPoint', value: { system: 'phone', value: '1', rank: 1 } }]],
    ['patient', 'email', []],
    ['patient', 'gender', [{ type: 'code', value: 'male', system: 'http://hl7.org/fhir/administrative-gender' }]],
    ['patient', 'deceased', [{ type: 'boolean', value: false }]],
    ['observation', 'patient', [{ type: 'Reference', value: { reference: 'Patient/p1' } }]],
    ['observation', 'date', [{ type: 'dateTime', value: '2024-03-01T08:00:00Z' }]],
    ['encounter', 'length', [{ type: 'Duration', value: seeds.encounter!.length }]],
    ['condition', 'onset-date', [{ type: 'dateTime', value: '2024' }]],
    ['condition', 'abatement-age', [{ type: 'Age', value: seeds.condition!.abatementAge }]],
    ['questionnaire', 'url', [{ type: 'uri', value: 'http://example.org/q' }]],
    ['bundle', 'type', [{ type: 'code', value: 'transaction', system: 'http://hl7.org/fhir/bundle-type' }]],
  ])('have their types: %s %s', (seed, code, expected) => {
    expect(valuesAt(seeds[seed]!, code)).toEqual(expected)
  })

  it('include the subscriber id of a Coverage, as HRex defines it', () => {
    const coverage = { resourceType: 'Coverage', subscriberId: '0042' }
    expect(valuesAt(coverage, 'subscriber-id')).toEqual([{ type: 'string', value: '0042' }])
  })

  it('include extensions as HL7 defines them', () => {
    const url = 'http://hl7.org/fhir/StructureDefinition/patient-mothersMaidenName'
    const resource = {
      resourceType: 'Patient',
      extension: [
        { url, valueString: 'Smith' },
        { url: 'http://x', valueString: 'y' },
      ],
    }
    expect(valuesAt(resource, 'mothersMaidenName')).toEqual([{ type: 'string', value: 'Smith' }])
  })
})

describe('a composite', () => {
  it('has its elements, and its components at each', () => {
    const parameter = findSearchParameter('Observation', 'component-code-value-quantity')!
    const [first, second] = parameter.values(seeds.observation!)
    expect(first?.type).toBe('Observation.component')
    expect(parameter.components.map(({ code, type }) => [code, type])).toEqual([
      ['component-code', 'token'],
      ['component-value-quantity', 'quantity'],
    ])
    expect(parameter.components[1]!.values(second!, seeds.observation!)).toEqual([
      { type: 'Quantity', value: { value: 80.5, unit: 'mmHg' } },
    ])
  })

  it('may apply to the resource and to its parts', () => {
    const parameter = findSearchParameter('Observation', 'combo-code-value-quantity')!
    expect(parameter.values(seeds.observation!).map(({ type }) => type)).toEqual([
      'Observation',
      'Observation.component',
      'Observation.component',
    ])
  })

  it('may read other parts of the resource', () => {
    const variant = { start: 1, end: 2 }
    const resource = { resourceType: 'MolecularSequence', referenceSeq: { referenceSeqId: { text: 'x' } }, variant: [variant] }
    const parameter = findSearchParameter('MolecularSequence', 'referenceseqid-variant-coordinate')!
    const [base] = parameter.values(resource)
    expect(parameter.components.map((component) => component.values(base!, resource))).toEqual([
      [{ type: 'CodeableConcept', value: { text: 'x' } }],
      [{ type: 'integer', value: 1 }],
      [{ type: 'integer', value: 2 }],
    ])
  })
})

describe('a custom parameter', () => {
  it('takes precedence over a later one of the server, and both are extracted', () => {
    const mapping = {
      base: 'Patient',
      code: 'race',
      field: 'race~12345678',
      type: 'token',
      url: 'http://x.y/race',
      expression: 'Patient.active',
    }
    const custom = [{ ...mapping, values: [['boolean', 'active']] }] as const
    expect(findSearchParameter('Patient', 'race')?.field).toBe('race')
    expect(findSearchParameter('Patient', 'race', custom)?.field).toBe('race~12345678')
    expect(findSearchParameter('Patient', 'ethnicity', custom)?.field).toBe('ethnicity')
    const fields = parametersOf('Patient', custom)
      .filter(({ code }) => code === 'race')
      .map(({ field }) => field)
    expect(fields).toEqual(['race', 'race~12345678'])
  })

  it('may be large on few types, but not on all', () => {
    const expression = `Resource${'.select($this.combine($this))'.repeat(10)}.meta.tag`
    const definedOn = (...base: readonly string[]) =>
      customMappingsOf({ resourceType: 'SearchParameter', status: 'active', code: 'large', type: 'token', expression, base }, 't')
    expect(definedOn('Patient', 'Observation').map(({ values }) => values.length)).toEqual([1_024, 1_024])
    expect(() => definedOn('Resource')).toThrow(expect.objectContaining({ status: 422 }))
  })

  it('has at most 8,192 paths to its values on a type', () => {
    const expression = (times: number) => `Patient.name${'.select($this.combine($this))'.repeat(times)}.given`
    const defined = (times: number) =>
      customMappingsOf({ resourceType: 'SearchParameter', status: 'active', code: 'many', type: 'string', expression: expression(times), base: ['Patient'] }, 't') // biome-ignore format: one definition
    expect(defined(13).map(({ values }) => values.length)).toEqual([8_192])
    expect(() => defined(14)).toThrow(expect.objectContaining({ status: 422 }))
  })

  it('has each path to its values once', () => {
    const expression = `Patient.name${'.select($this | $this)'.repeat(40)}.given | Patient.name.given`
    const definition = { resourceType: 'SearchParameter', status: 'active', code: 'once', type: 'string', expression, base: ['Patient'] }
    expect(customMappingsOf(definition, 't').map(({ values }) => values)).toEqual([[['string', 'name', 'given']]])
  })
})
