/** Specification 4.1: PATCH by JSON Patch and by FHIRPath Patch. @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { issuesOf, newId, type Tree, withServer } from './server.ts'

const { get, put, patch, send, delete: remove } = withServer()

const given = async (more: Record<string, unknown> = {}): Promise<string> => {
  const id = newId()
  await put(`/Patient/${id}`, patient(id, more))
  return `/Patient/${id}`
}

it.each(['9999E9999', '1.0', '1.10 ', '1e5\n', '-0', '1'])('a number is rejected as a member name: %j', async (name) => {
  const path = await given()
  const headers = { 'content-type': 'application/json-patch+json' }
  const patched = await send('PATCH', path, `[{"op":"add","path":"/active","value":true,${name}:1}]`, headers)
  const updated = await send('PUT', path, `{"resourceType":"Patient","id":"${path.slice(9)}",${name}:1}`)
  for (const { status, text, body } of [patched, updated]) {
    expect([status, body.issue[0].details.text]).toEqual([400, expect.stringContaining('JSON')])
    expect(text).not.toMatch(/\\u0000|\u0000/)
  }
  expect((await get(path)).headers.get('etag')).toBe('W/"1"')
})

describe('JSON Patch', () => {
  it('returns 200 with the resource, ETag and Location', async () => {
    const path = await given({ name: [{ family: 'a', given: ['b'] }] })
    const answer = await patch(path, [
      { op: 'test', path: '/name/0/family', value: 'a' },
      { op: 'replace', path: '/name/0/family', value: 'c' },
      { op: 'add', path: '/name/0/given/-', value: 'd' },
      { op: 'copy', from: '/name/0', path: '/name/1' },
      { op: 'remove', path: '/name/0/given/0' },
      { op: 'move', from: '/name/1', path: '/name/0' },
    ])
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, 'W/"2"'])
    expect(answer.headers.get('location')).toMatch(/_history\/2$/)
    expect(answer.body.name).toEqual([
      { family: 'c', given: ['b', 'd'] },
      { family: 'c', given: ['d'] },
    ])
  })
  it.each<[string, unknown, number]>([
    ['a failing test', [{ op: 'test', path: '/active', value: false }], 422],
    ['an unknown path', [{ op: 'remove', path: '/name/3' }], 422],
    ['a change of the id', [{ op: 'replace', path: '/id', value: 'other' }], 422],
    ['a change of the type', [{ op: 'replace', path: '/resourceType', value: 'Person' }], 422],
    ['an invalid result', [{ op: 'add', path: '/nonsense', value: 1 }], 422],
    ['the whole resource', [{ op: 'replace', path: '', value: [] }], 422],
    ['an unknown operation', [{ op: 'increment', path: '/active' }], 400],
    ['no operation', [5], 400],
    ['no path', [{ op: 'add', value: 1 }], 400],
    ['no patch', { resourceType: 'Patient' }, 400],
    ['a prototype', [{ op: 'add', path: '/__proto__/polluted', value: true }], 422],
  ])('rejects %s: %j with %i, and writes nothing', async (_, operations, status) => {
    const path = await given({ active: true })
    expect((await patch(path, operations)).status).toBe(status)
    expect((await get(path)).body.meta.versionId).toBe('1')
    expect(({} as Tree).polluted).toBeUndefined()
  })
  it('keeps decimals, and tests them by value', async () => {
    const id = newId()
    await send(
      'PUT',
      `/Observation/${id}`,
      `{"resourceType":"Observation","id":"${id}","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.10}}`,
    )
    const answer = await patch(
      `/Observation/${id}`,
      '[{"op":"test","path":"/valueQuantity/value","value":1.1},{"op":"copy","from":"/valueQuantity","path":"/referenceRange","x":0},{"op":"remove","path":"/referenceRange"},{"op":"add","path":"/valueQuantity/unit","value":"mg"}]',
    )
    expect(answer.text).toContain('"value":1.10')
  })
  it('returns 404 for unknown and deleted resources, 412 for another version in If-Match', async () => {
    const path = await given()
    const operations = [{ op: 'add', path: '/active', value: true }]
    expect((await patch(`/Patient/${newId()}`, operations)).status).toBe(404)
    expect((await patch(path, operations, { 'if-match': 'W/"2"' })).status).toBe(412)
    await remove(path)
    expect((await patch(path, operations)).status).toBe(404)
  })
  it('loses none of 20 concurrent patches', async () => {
    const path = await given({ name: [{ given: ['x'] }] })
    await Promise.all(Array.from({ length: 20 }, (_, i) => patch(path, [{ op: 'add', path: '/name/0/given/-', value: `n${i}` }])))
    expect((await get(path)).body.name[0].given).toHaveLength(21)
  })
})

type Part = readonly [name: string, value: Tree]
const operation = (...parts: readonly Part[]): Tree => ({ name: 'operation', part: parts.map(([name, value]) => ({ name, ...value })) })
const parameters = (...parameter: Tree[]): Tree => ({ resourceType: 'Parameters', parameter })
const op = (type: string, path: string, ...more: readonly Part[]): Tree =>
  operation(['type', { valueCode: type }], ['path', { valueString: path }], ...more)

describe('FHIRPath Patch', () => {
  const fhirPath = (path: string, ...operations: Tree[]) =>
    patch(path, parameters(...operations), { 'content-type': 'application/fhir+json' })

  it.each<[string, Tree, Tree, Tree]>([
    [
      'add to an empty element',
      {},
      op('add', 'Patient', ['name', { valueString: 'birthDate' }], ['value', { valueDate: '1930-01-01' }]),
      { birthDate: '1930-01-01' },
    ],
    [
      'add to a list',
      { identifier: [{ value: 'a' }] },
      op('add', 'Patient', ['name', { valueString: 'identifier' }], ['value', { valueIdentifier: { value: 'b' } }]),
      { identifier: [{ value: 'a' }, { value: 'b' }] },
    ],
    [
      'add a choice',
      {},
      op('add', 'Patient', ['name', { valueString: 'deceased' }], ['value', { valueBoolean: true }]),
      { deceasedBoolean: true },
    ],
    [
      'add a backbone element',
      {},
      op(
        'add',
        'Patient',
        ['name', { valueString: 'contact' }],
        [
          'value',
          {
            part: [
              { name: 'name', valueHumanName: { text: 'n' } },
              { name: 'gender', valueCode: 'male' },
            ],
          },
        ],
      ),
      { contact: [{ name: { text: 'n' }, gender: 'male' }] },
    ],
    [
      'insert',
      { identifier: [{ value: 'a' }, { value: 'c' }] },
      op('insert', 'Patient.identifier', ['index', { valueInteger: 1 }], ['value', { valueIdentifier: { value: 'b' } }]),
      { identifier: [{ value: 'a' }, { value: 'b' }, { value: 'c' }] },
    ],
    ['delete', { birthDate: '1930-01-01', active: true }, op('delete', 'Patient.birthDate'), { active: true }],
    ['delete of a missing element', { active: true }, op('delete', 'Patient.birthDate'), { active: true }],
    [
      'delete by criterion',
      { identifier: [{ system: 's', value: 'a' }, { value: 'b' }] },
      op('delete', "Patient.identifier.where(system='s')"),
      { identifier: [{ value: 'b' }] },
    ],
    [
      'replace',
      { name: [{ family: 'a' }, { family: 'b' }] },
      op('replace', 'Patient.name[1].family', ['value', { valueString: 'c' }]),
      { name: [{ family: 'a' }, { family: 'c' }] },
    ],
    [
      'replace in a list',
      { name: [{ given: ['a', 'b'] }] },
      op('replace', 'Patient.name.given[1]', ['value', { valueString: 'c' }]),
      { name: [{ given: ['a', 'c'] }] },
    ],
    [
      'move',
      { identifier: [{ value: 'a' }, { value: 'b' }, { value: 'c' }] },
      op('move', 'Patient.identifier', ['source', { valueInteger: 2 }], ['destination', { valueInteger: 0 }]),
      { identifier: [{ value: 'c' }, { value: 'a' }, { value: 'b' }] },
    ],
    [
      'delete of an only child',
      { active: true, contact: [{ name: { family: 'x' } }] },
      op('delete', 'Patient.contact[0].name.family'),
      { active: true },
    ],
  ])('supports %s', async (_, before, change, after) => {
    const path = await given(before)
    const answer = await fhirPath(path, change)
    const { resourceType, id, meta, ...rest } = answer.body
    expect([answer.status, rest]).toEqual([200, after])
  })
  it('without operations leaves the resource unchanged', async () => {
    const path = await given({ active: true })
    const answer = await fhirPath(path)
    expect([answer.status, answer.body.active, answer.body.meta.versionId]).toEqual([200, true, '2'])
    const document = { resourceType: 'Parameters' }
    expect((await patch(path, document, { 'content-type': 'application/fhir+json' })).status).toBe(200)
  })
  it.each<[Tree, number]>([
    [op('replace', 'Patient.birthDate', ['value', { valueDate: '1930-01-01' }]), 422],
    [op('delete', 'Patient.name'), 422],
    [op('insert', 'Patient.name', ['index', { valueInteger: 9 }], ['value', { valueHumanName: { text: 'x' } }]), 422],
    [op('add', 'Patient', ['name', { valueString: 'nonsense' }], ['value', { valueString: 'x' }]), 422],
    [op('add', 'Patient', ['name', { valueString: 'active' }]), 400],
    [op('explode', 'Patient'), 400],
    [op('delete', 'Patient.(('), 400],
    [op('delete', 'Patient'), 422],
    [operation(['type', { valueCode: 'delete' }]), 400],
    [{ name: 'something' }, 400],
  ])('rejects %j with %i and its location', async (change, status) => {
    const path = await given({ name: [{ family: 'a' }, { family: 'b' }] })
    const answer = await fhirPath(path, change)
    expect([answer.status, issuesOf(answer)[0]]).toEqual([status, expect.stringContaining('Parameters.parameter[0]')])
    expect((await get(path)).body.meta.versionId).toBe('1')
  })
})
