/** FHIRPath that the compiler rejects, on fhirpath.js: values with their types, as they are in the resource. http://hl7.org/fhirpath/N1/ */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, jest } from '@jest/globals'
import { parseJson } from '../../lambdas/fhir/json.ts'
import { createInterpreter, loadInterpreter } from '../../lambdas/fhir/path/interpreter.ts'
import type { TypedValue } from '../../lambdas/fhir/path/steps.ts'
import { runEachWithin, runWithin } from '../../lambdas/fhir/path/time-limit.ts'
import { TooCostly, TookTooLong } from '../../lambdas/fhir/path/work-budget.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { isResourceType } from '../../lambdas/fhir/resource-types.ts'
import { parametersOf } from '../../lambdas/search/parameters.ts'
import { PACKAGE_FOLDER } from '../../search-mappings/generate/hl7.ts'

const patient: Resource = {
  resourceType: 'Patient',
  id: 'p',
  contained: [{ resourceType: 'Organization', id: 'o', name: 'Clinic' }],
  managingOrganization: { reference: '#o' },
  generalPractitioner: [{ reference: 'Practitioner/1' }, { reference: 'http://host/Organization/2' }],
  birthDate: '1974-12-25',
  _gender: { extension: [{ url: 'x', valueString: 'y' }] },
  name: [{ use: 'official', given: ['Peter', 'James'] }, { given: ['Jim'] }],
  contact: [{ name: { family: 'X' } }],
  extension: [
    { url: 'd', valueDecimal: '\u00001.10' },
    { url: 'q', valueQuantity: { value: '\u00005.50', unit: 'mg' } },
  ],
}
const text = JSON.stringify(patient)

beforeAll(loadInterpreter)

describe('an expression', () => {
  it.each([
    ['Patient.name.repeat(given)', 'string "Peter"', 'string "James"', 'string "Jim"'],
    ['Patient.name.aggregate($total + given.count(), 0)', 'integer 3'],
    ["Patient.name.given.join(' ')", 'string "Peter James Jim"'],
    ['Patient.extension.value', 'decimal "\\u00001.10"', 'Quantity {"value":"\\u00005.50","unit":"mg"}'],
    ['Patient.extension.value.ofType(decimal) * 2', 'decimal 2.2'],
    ['1 - 0.9', 'decimal 0.1'],
    ["1 - (0.9 '1')", 'Quantity {"value":0.1,"unit":"1","system":"http://unitsofmeasure.org","code":"1"}'],
    ['12345678901234567890.5 + 1', 'decimal "\\u000012345678901234567891.5"'],
    ["'+007.0'.toDecimal()", 'integer 7'],
    ['2L + 4L', 'long 6'],
    ['9223372036854775807L', 'long "\\u00009223372036854775807"'],
    ['Patient.birthDate.toDateTime()', 'dateTime "1974-12-25"'],
    ['@2020-02', 'date "2020-02"'],
    ["5.5 'mg'", 'Quantity {"value":5.5,"unit":"mg","system":"http://unitsofmeasure.org","code":"mg"}'],
    ['Patient.contact', 'Patient.contact {"name":{"family":"X"}}'],
    ['Patient.gender'],
    ['Patient.managingOrganization.resolve().name', 'string "Clinic"'],
    ['Patient.generalPractitioner.where(resolve() is Organization)', 'Reference {"reference":"http://host/Organization/2"}'],
    ["trace('x').id", 'string "p"'],
    ['%resource.id', 'string "p"'],
  ])('returns values with their types: %s', (expression, ...expected) => {
    const values = createInterpreter(expression, 'Patient')(patient, patient)
    expect(values.map(({ type, value }) => `${type} ${JSON.stringify(value)}`)).toEqual(expected)
    expect(JSON.stringify(patient)).toBe(text)
  })

  it('starts from any element', () => {
    const [name] = patient.name as readonly unknown[]
    expect(createInterpreter("given.join('-') & %resource.id", 'HumanName')(name, patient)).toEqual([
      { type: 'string', value: 'Peter-Jamesp' },
    ])
  })

  it('returns the elements of the resource themselves', () => {
    expect(createInterpreter('Patient.repeat(name)', 'Patient')(patient, patient)[1]?.value).toBe((patient.name as readonly unknown[])[1])
  })

  it('is stopped if the texts it makes become too long', () => {
    const doubled = `Patient.repeat(name).given${'.select($this & $this)'.repeat(26)}`
    expect(() => createInterpreter(doubled, 'Patient')(patient, patient)).toThrow(TooCostly)
  })
})

describe('resolve() in a Bundle', () => {
  const observation = (id: string): Resource => ({
    resourceType: 'Observation',
    id,
    contained: [
      { resourceType: 'Practitioner', id: 'c', name: [{ family: id }], extension: [{ url: 'x', valueReference: { reference: '#' } }] },
    ],
    performer: [{ reference: '#c' }],
  })
  const bundle: Resource = { resourceType: 'Bundle', entry: [{ resource: observation('a') }, { resource: observation('b') }] }
  const found = (expression: string, isShown = true): unknown =>
    createInterpreter(expression, 'Bundle', { isShown })(bundle, bundle).map(({ value }) => value)

  it('finds the contained resources of the entry that the reference is in', () => {
    expect(found('entry.resource.performer.resolve().name.family')).toEqual(['a', 'b'])
    expect(found('entry.resource.performer.reference.resolve().name.family')).toEqual(['a', 'b'])
    expect(found('entry.resource.where(performer.resolve() is Practitioner).id', false)).toEqual(['a', 'b'])
  })
  it('finds the resource that contains the reference #', () => {
    expect(found('entry.resource.contained.extension.value.resolve().id')).toEqual(['a', 'b'])
    expect(found('entry.resource.performer.resolve().extension.value.resolve().performer.resolve().id')).toEqual(['c', 'c'])
  })
})

describe('the sum of a date or time and a duration', () => {
  const found = (expression: string): unknown => createInterpreter(expression, 'Patient')(patient, patient).map(({ value }) => value)

  it.each([
    ['@2020-01-31T10:00:00+05:00 + 1 month', '2020-02-29T10:00:00+05:00'],
    ['@2020-03-01T00:30:00-11:00 - 1 hour', '2020-02-29T23:30:00-11:00'],
    ['@2020-01-31T10:00:00Z + 1 day', '2020-02-01T10:00:00Z'],
    ['@2020-01-31T10:00:00 + 1 day', '2020-02-01T10:00:00'],
    ["@2020-01-31T10:00:00Z + 5 'ms'", '2020-01-31T10:00:00.005Z'],
    ['@2020-01-31T10:00:00.25Z + 2.5 seconds', '2020-01-31T10:00:02.750Z'],
    ['@T23:00 + 2 hours', '01:00'],
    ['1 day + @2020-02-28', '2020-02-29'],
    ['Patient.birthDate + 1 week', '1975-01-01'],
    ['@2014 + 23 months', '2015'],
    ['@2014 + 364 days', '2014'],
    ['@2019-02 + 31 days', '2019-03'],
    ['@2020-02-29 + 1 year', '2021-02-28'],
    ['@0099-01-01 - 2 years', '0097-01-01'],
  ])('keeps the offset and the precision: %s', (expression, expected) => {
    expect(found(expression)).toEqual([expected])
  })

  it('ignores fractions of minutes and longer units', () => {
    // fhirpath.js warns.
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined)
    expect(found('@2020-01-01T10:00:00Z + 1.9 hours')).toEqual(['2020-01-01T11:00:00Z'])
    warn.mockRestore()
  })

  it('does not depend on the time zone of the process', () => {
    const before = process.env.TZ
    process.env.TZ = 'Europe/Berlin'
    try {
      // A clock in Berlin has no such time on that day.
      expect(found('@2020-03-28T02:30:00-04:00 + 1 day')).toEqual(['2020-03-29T02:30:00-04:00'])
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })

  it.each(['today() + 99999999999 years', '@2020-01-01 - 2020 years', '@9999-12-31 + 1 day', '@T23:00 + 99999999999999 hours'])(
    'is rejected if it is out of range: %s',
    (expression) => expect(() => found(expression)).toThrow('is out of range: years are 0001 to 9999'),
  )

  it.each(['@2020 + 1', "@2020 + 1 'mg'"])('is rejected if the duration has no unit of time: %s', (expression) => {
    expect(() => found(expression)).toThrow('must be one of the following time-based units')
  })
})

describe('every search parameter on official examples', () => {
  const examples = [
    'Patient-example',
    'Observation-blood-pressure',
    'Encounter-f203',
    'MedicationRequest-medrx0301',
    'ValueSet-example-extensional',
  ]
  // Search treats an id as a string. fhirpath.js names a contained resource by its type.
  const kind = (type: string): string => (type === 'id' ? 'string' : isResourceType(type) ? 'Resource' : type)
  const shown = (values: readonly TypedValue[]): readonly string[] =>
    [...new Set(values.map(({ type, value, system = '' }) => `${kind(type)} ${JSON.stringify(value)} ${system}`))].sort()

  it.each(examples)('has the values, types and code systems of the compiled one: %s', (name) => {
    const resource = parseJson(readFileSync(join(PACKAGE_FOLDER, `${name}.json`), 'utf8')) as Resource
    const parameters = parametersOf(resource.resourceType).filter(({ type }) => type !== 'composite')
    const differing = parameters.filter(({ expression, values }) => {
      const evaluate = createInterpreter(asWritten(expression), resource.resourceType)
      return shown(values(resource)).join() !== shown(evaluate(resource, resource)).join()
    })
    expect(differing.map(({ code }) => code)).toEqual([])
    expect(parameters.filter(({ values }) => values(resource).length > 0).length).toBeGreaterThan(5)
  })

  /** fhirpath.js rejects `as` on several items, and has no type `DateTime`. */
  const asWritten = (expression: string): string =>
    expression
      .replaceAll('DateTime', 'dateTime')
      .replaceAll('.as(', '.ofType(')
      .replace(/\(([\w.]+) as (\w+)\)/g, '$1.ofType($2)')
})

describe('work with a time limit', () => {
  const endless = (): never => {
    for (;;);
  }
  it('is stopped when it takes too long', () => {
    expect(() => runWithin(20, endless)).toThrow(TookTooLong)
    expect(() => runWithin(20, () => /^(a+)+$/.test(`${'a'.repeat(60)}b`))).toThrow(TookTooLong)
  })
  it('is started again if it had to wait for a processor', () => {
    const cell = new Int32Array(new SharedArrayBuffer(4))
    let begun = 0
    const waiting = (): string => {
      // The first call waits until it is stopped, and uses no processor time until then.
      if (++begun === 1) Atomics.wait(cell, 0, 0)
      return 'done'
    }
    expect(runWithin(100, waiting)).toBe('done')
    expect(begun).toBe(2)
  })
  it('is stopped if it only waits', () => {
    const cell = new Int32Array(new SharedArrayBuffer(4))
    expect(() => runWithin(5, () => Atomics.wait(cell, 0, 0))).toThrow(TookTooLong)
  })
  it('returns its result or throws its error', () => {
    expect(runWithin(1_000, () => 'done')).toBe('done')
    expect(() => runWithin(1_000, () => JSON.parse('{'))).toThrow('JSON')
  })
  it('does not stop other work of the same call', () => {
    const outcomes = runEachWithin<unknown>({ each: 100 }, [() => 1, endless, () => 2, () => JSON.parse('{'), endless, () => 3])
    expect(outcomes.map((each) => ('error' in each ? (each.error as Error).name : each.result))).toEqual([
      1,
      'TookTooLong',
      2,
      'SyntaxError',
      'TookTooLong',
      3,
    ])
  })

  const spin = (ms: number): void => {
    for (const began = process.threadCpuUsage(); process.threadCpuUsage(began).user < ms * 1_000; );
  }

  it('is not started after too many overruns, or when the total time is used', () => {
    const begun: string[] = []
    const work = (name: string, then: () => unknown = () => name) => {
      return () => {
        begun.push(name)
        return then()
      }
    }
    const names = (outcomes: readonly { readonly ms: number }[]) => outcomes.map(({ ms }) => ms > 0)
    expect(names(runEachWithin({ each: 20, overruns: 1 }, [work('first', endless), work('second')]))).toEqual([true, false])
    expect(names(runEachWithin({ each: 20, all: 15 }, [work('third', endless), work('fourth')]))).toEqual([true, false])
    expect(names(runEachWithin({ each: 2_000, all: 15 }, [work('fifth', () => spin(30)), work('sixth')]))).toEqual([true, false])
    // A busy machine may start stopped work again.
    expect([...new Set(begun)]).toEqual(['first', 'third', 'fifth'])
  })
})
