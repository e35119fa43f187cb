/** FHIRPath Patch on a tree. https://hl7.org/fhir/R4/fhirpatch.html */
import { describe, expect, it } from '@jest/globals'
import { fhirPathPatch, readFhirPathPatch } from '../../lambdas/fhir/fhirpath-patch.ts'
import { TooCostly } from '../../lambdas/fhir/path/work-budget.ts'
import type { Element, Resource } from '../../lambdas/fhir/resource.ts'

const patient = (): Resource => ({
  resourceType: 'Patient',
  name: [{ family: 'a', given: ['b', 'c'] }],
  birthDate: '1974-12-25',
  _birthDate: { extension: [{ url: 'http://x/t', valueTime: '08:00:00' }] },
})

type Part = { readonly type: string; readonly path: string; readonly name?: string; readonly index?: number; readonly value?: Element }

const operation = ({ type, path, name, index, value }: Part): Element => ({
  name: 'operation',
  part: [
    { name: 'type', valueCode: type },
    { name: 'path', valueString: path },
    ...(name === undefined ? [] : [{ name: 'name', valueString: name }]),
    ...(index === undefined ? [] : [{ name: 'index', valueInteger: index }]),
    ...(value === undefined ? [] : [{ name: 'value', ...value }]),
  ],
})

const parameters = (...parts: readonly Part[]): Element => ({ resourceType: 'Parameters', parameter: parts.map(operation) })

const patched = async (document: Element, left = 10_000): Promise<Resource> =>
  (await fhirPathPatch(readFhirPathPatch(document)))(patient(), { left })

describe('add', () => {
  it('appends to a list that has items, and begins one that has none', async () => {
    const document = parameters(
      { type: 'add', path: 'Patient.name[0]', name: 'given', value: { valueString: 'd' } },
      { type: 'add', path: 'Patient', name: 'telecom', value: { valueContactPoint: { value: '1' } } },
    )
    expect(await patched(document)).toEqual({ ...patient(), name: [{ family: 'a', given: ['b', 'c', 'd'] }], telecom: [{ value: '1' }] })
  })
})

describe('insert', () => {
  it('puts an item at the end, and none beyond it', async () => {
    const inserted = (index: number) =>
      patched(parameters({ type: 'insert', path: 'Patient.name[0].given', index, value: { valueString: 'd' } }))
    expect((await inserted(2)).name).toEqual([{ family: 'a', given: ['b', 'c', 'd'] }])
    expect((await inserted(0)).name).toEqual([{ family: 'a', given: ['d', 'b', 'c'] }])
    await expect(inserted(3)).rejects.toThrow('beyond the end')
  })
})

describe('delete', () => {
  it('takes away what stands beside a primitive too', async () => {
    const { birthDate, _birthDate, ...rest } = patient()
    expect(await patched(parameters({ type: 'delete', path: 'Patient.birthDate' }))).toEqual(rest)
  })
})

describe('what a patch places', () => {
  it('is a copy: the patch can be applied again', async () => {
    const document = parameters(
      { type: 'add', path: 'Patient', name: 'contact', value: { part: [{ name: 'name', valueHumanName: { family: 'x' } }] } },
      { type: 'replace', path: 'Patient.contact[0].name.family', value: { valueString: 'y' } },
    )
    const before = JSON.stringify(document)
    expect((await patched(document)).contact).toEqual([{ name: { family: 'y' } }])
    expect(JSON.stringify(document)).toBe(before)
  })

  it('is counted, and what its paths look through', async () => {
    await expect(patched(parameters({ type: 'delete', path: "Patient.name.where(given = 'd')" }), 5)).rejects.toThrow(TooCostly)
    const value = { valueString: 'x'.repeat(1_000) }
    await expect(patched(parameters({ type: 'replace', path: 'Patient.birthDate', value }), 10)).rejects.toThrow(TooCostly)
  })

  it('is nested no deeper than JSON may be', async () => {
    const nested = (levels: number): Element => (levels === 0 ? { url: 'x' } : { url: 'x', extension: [nested(levels - 1)] })
    const added = (levels: number) =>
      patched(parameters({ type: 'add', path: 'Patient', name: 'extension', value: { valueExtension: nested(levels) } }))
    await expect(added(30)).resolves.toBeDefined()
    await expect(added(31)).rejects.toThrow('deeper than a resource may be')
  })
})

it('a name that is no string is refused, with its place', () => {
  const second = {
    name: 'operation',
    part: [
      { name: 'type', valueCode: 'delete' },
      { name: ['path'], valueString: 'Patient.photo' },
    ],
  }
  const document = { resourceType: 'Parameters', parameter: [operation({ type: 'delete', path: 'Patient.photo' }), second] }
  expect(() => readFhirPathPatch(document)).toThrow(
    expect.objectContaining({
      status: 400,
      issues: [expect.objectContaining({ expression: 'Parameters.parameter[1]', text: 'The name of a part is a string' })],
    }),
  )
})
