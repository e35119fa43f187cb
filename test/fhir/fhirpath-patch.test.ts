/** FHIRPath Patch on a tree. https://hl7.org/fhir/R4/fhirpatch.html */
import { describe, expect, it } from '@jest/globals'
import { compileFhirPathPatch, readFhirPathPatch } from '../../lambdas/fhir/fhirpath-patch.ts'
import { TooCostly } from '../../lambdas/fhir/path/work-budget.ts'
import type { Element, Resource } from '../../lambdas/fhir/resource.ts'

const patient = (): Resource => ({
  resourceType: 'Patient',
  name: [{ family: 'a', given: ['b', 'c'] }],
  birthDate: '1974-12-25',
  _birthDate: { extension: [{ url: 'http://x/t', valueTime: '08:00:00' }] },
})

type Part = {
  readonly type: string
  readonly path: string
  readonly name?: string
  readonly index?: number
  readonly value?: Element
} & Readonly<Partial<Record<'source' | 'destination', number>>>

const operation = ({ type, path, name, value, ...positions }: Part): Element => ({
  name: 'operation',
  part: [
    { name: 'type', valueCode: type },
    { name: 'path', valueString: path },
    ...(name === undefined ? [] : [{ name: 'name', valueString: name }]),
    ...Object.entries(positions).map(([name, position]) => ({ name, valueInteger: position })),
    ...(value === undefined ? [] : [{ name: 'value', ...value }]),
  ],
})

const parameters = (...parts: readonly Part[]): Element => ({ resourceType: 'Parameters', parameter: parts.map(operation) })

const patched = async (document: Element, left = 10_000): Promise<Resource> =>
  (await compileFhirPathPatch(readFhirPathPatch(document)))(patient(), { left })

describe('add', () => {
  it('appends to a list, and creates the list if it has no items', async () => {
    const document = parameters(
      { type: 'add', path: 'Patient.name[0]', name: 'given', value: { valueString: 'd' } },
      { type: 'add', path: 'Patient', name: 'telecom', value: { valueContactPoint: { value: '1' } } },
    )
    expect(await patched(document)).toEqual({ ...patient(), name: [{ family: 'a', given: ['b', 'c', 'd'] }], telecom: [{ value: '1' }] })
  })
})

describe('insert', () => {
  it('accepts the position after the last item and rejects later ones', async () => {
    const inserted = (index: number) =>
      patched(parameters({ type: 'insert', path: 'Patient.name[0].given', index, value: { valueString: 'd' } }))
    expect((await inserted(2)).name).toEqual([{ family: 'a', given: ['b', 'c', 'd'] }])
    expect((await inserted(0)).name).toEqual([{ family: 'a', given: ['d', 'b', 'c'] }])
    await expect(inserted(3)).rejects.toThrow('beyond the end')
  })
})

describe('delete', () => {
  it('removes the extensions of a primitive too', async () => {
    const { birthDate, _birthDate, ...rest } = patient()
    expect(await patched(parameters({ type: 'delete', path: 'Patient.birthDate' }))).toEqual(rest)
  })

  const EXTENSION = [{ url: 'x', valueString: 'y' }]
  it.each([
    ['an only child and its empty parents', 'contact[0].name.family', { contact: [{ name: { family: 'x' } }] }, {}],
    ['an only child and the item that has it', 'name[1].family', { name: [{ family: 'a' }, { family: 'b' }] }, { name: [{ family: 'a' }] }],
    ['an only extension of a primitive', 'gender.extension[0]', { gender: 'male', _gender: { extension: EXTENSION } }, { gender: 'male' }],
    ['an only extension of a primitive without a value', 'gender.extension[0]', { _gender: { extension: EXTENSION } }, {}],
    [
      'an only extension in a list of primitives',
      'name[0].given[1].extension[0]',
      { name: [{ given: ['a', 'b'], _given: [null, { extension: EXTENSION }] }] },
      { name: [{ given: ['a', 'b'] }] },
    ],
    [
      'an extension, and keeps the id of the next item',
      'name[0].given[0].extension[0]',
      { name: [{ given: ['a', 'b'], _given: [{ extension: EXTENSION }, { id: 'i' }] }] },
      { name: [{ given: ['a', 'b'], _given: [null, { id: 'i' }] }] },
    ],
    ['only the named child', 'name[0].family', { name: [{ family: 'a', use: 'usual' }] }, { name: [{ use: 'usual' }] }],
  ])('removes %s', async (_, path, before, after) => {
    const patch = await compileFhirPathPatch(readFhirPathPatch(parameters({ type: 'delete', path: `Patient.${path}` })))
    expect(patch({ resourceType: 'Patient', ...before }, { left: 10_000 })).toEqual({ resourceType: 'Patient', ...after })
  })
})

describe('a list of primitives', () => {
  const [given, _given] = [
    ['a', 'b'],
    [null, { id: 'of-b' }],
  ]
  it.each([
    ['delete', { path: 'Patient.name.given[0]' }, ['b'], [{ id: 'of-b' }]],
    ['delete', { path: 'Patient.name.given[1]' }, ['a'], undefined],
    ['insert', { path: 'Patient.name.given', index: 0, value: { valueString: 'c' } }, ['c', 'a', 'b'], [null, null, { id: 'of-b' }]],
    ['add', { path: 'Patient.name', name: 'given', value: { valueString: 'c' } }, ['a', 'b', 'c'], [null, { id: 'of-b' }, null]],
    ['replace', { path: 'Patient.name.given[1]', value: { valueString: 'c' } }, ['a', 'c'], [null, { id: 'of-b' }]],
  ])('keeps ids and extensions with their values: %s %j', async (type, part, values, beside) => {
    const patch = await compileFhirPathPatch(readFhirPathPatch(parameters({ type, ...part })))
    const { name } = patch({ resourceType: 'Patient', name: [{ given, _given }] }, { left: 10_000 })
    expect(name).toEqual([{ given: values, ...(beside === undefined ? {} : { _given: beside }) }])
  })
  it('keeps ids and extensions with their values: move', async () => {
    const operation = parameters({ type: 'move', path: 'Patient.name.given', source: 1, destination: 0 })
    const patch = await compileFhirPathPatch(readFhirPathPatch(operation))
    const { name } = patch({ resourceType: 'Patient', name: [{ given, _given }] }, { left: 10_000 })
    expect(name).toEqual([{ given: ['b', 'a'], _given: [{ id: 'of-b' }, null] }])
  })
  it('receives a value in an item that had only an extension', async () => {
    const operation = parameters({ type: 'replace', path: 'Patient.name.given[0]', value: { valueString: 'c' } })
    const patch = await compileFhirPathPatch(readFhirPathPatch(operation))
    const { name } = patch({ resourceType: 'Patient', name: [{ _given: [{ id: 'i' }] }] }, { left: 10_000 })
    expect(name).toEqual([{ given: ['c'], _given: [{ id: 'i' }] }])
  })
})

it.each([[{ resourceType: 'Parameters' }], [{ resourceType: 'Parameters', parameter: [] }]])(
  'a patch without operations changes nothing: %j',
  async (document) => expect(await patched(document)).toEqual(patient()),
)

it('operations that are no list are rejected', () => {
  expect(() => readFhirPathPatch({ resourceType: 'Parameters', parameter: {} })).toThrow('are a list')
})

describe('a value that a patch inserts', () => {
  it('is a copy, so the patch can be applied again', async () => {
    const document = parameters(
      { type: 'add', path: 'Patient', name: 'contact', value: { part: [{ name: 'name', valueHumanName: { family: 'x' } }] } },
      { type: 'replace', path: 'Patient.contact[0].name.family', value: { valueString: 'y' } },
    )
    const before = JSON.stringify(document)
    expect((await patched(document)).contact).toEqual([{ name: { family: 'y' } }])
    expect(JSON.stringify(document)).toBe(before)
  })

  it('counts as work, and so do the items that a path visits', async () => {
    await expect(patched(parameters({ type: 'delete', path: "Patient.name.where(given = 'd')" }), 5)).rejects.toThrow(TooCostly)
    const value = { valueString: 'x'.repeat(1_000) }
    await expect(patched(parameters({ type: 'replace', path: 'Patient.birthDate', value }), 10)).rejects.toThrow(TooCostly)
  })

  it('is rejected if it makes the resource deeper than JSON may be', async () => {
    const nested = (levels: number): Element => (levels === 0 ? { url: 'x' } : { url: 'x', extension: [nested(levels - 1)] })
    const added = (levels: number) =>
      patched(parameters({ type: 'add', path: 'Patient', name: 'extension', value: { valueExtension: nested(levels) } }))
    await expect(added(30)).resolves.toBeDefined()
    await expect(added(31)).rejects.toThrow('deeper than a resource may be')
  })
})

it('a part name that is no string is rejected with its path', () => {
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
