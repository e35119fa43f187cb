/** JSON Patch on a tree. https://www.rfc-editor.org/rfc/rfc6902 */
import { describe, expect, it } from '@jest/globals'
import { parseJson, writeJson } from '../../lambdas/fhir/json.ts'
import { applyJsonPatch, readJsonPatch } from '../../lambdas/fhir/json-patch.ts'
import type { FhirError } from '../../lambdas/fhir/outcome.ts'
import { TooCostly } from '../../lambdas/fhir/path/work-budget.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'

const patient = (): Resource => ({ resourceType: 'Patient', name: [{ family: 'a', given: ['b'] }] })

const patched = (operations: readonly unknown[], left = 1_000): unknown => applyJsonPatch(patient(), readJsonPatch(operations), { left })

const statusOf = (operations: readonly unknown[]): number => {
  try {
    patched(operations)
    return 200
  } catch (thrown) {
    return (thrown as FhirError).status
  }
}

describe('a test operation', () => {
  it.each<[unknown, number]>([
    [{ family: 'a', given: ['b'] }, 200],
    [{ given: ['b'], family: 'a' }, 200],
    [{ family: 'a', given: ['b'], use: 'usual' }, 422],
    [{ family: 'a' }, 422],
    [{ family: 'a', given: ['b', 'c'] }, 422],
    [{ family: 'a', use: 'usual' }, 422],
  ])('with the value %j returns %i', (value, status) => {
    expect(statusOf([{ op: 'test', path: '/name/0', value }])).toBe(status)
  })
  it.each([
    ['is malformed', 'name', 400],
    ['leads nowhere', '/contact/0', 422],
    ['leads nowhere at its end', '/name/0/use', 422],
  ])('with a path that %s (%s) returns %i', (_, path, status) => {
    expect(statusOf([{ op: 'test', path, value: 1 }])).toBe(status)
  })
})

describe('an operation', () => {
  it.each<[unknown, number]>([
    [{ op: 'remove', path: '/name/1' }, 422],
    [{ op: 'add', path: '/name/2', value: {} }, 422],
    [{ op: 'add', path: '/name/x', value: {} }, 422],
    [{ op: 'add', path: '/contact/0/x', value: {} }, 422],
    [{ op: 'test', path: '/constructor/name', value: 'Object' }, 422],
    [{ op: 'test', path: '/name/length', value: 1 }, 422],
    [{ op: 'test', path: '/name/00/family', value: 'a' }, 422],
    [{ op: 'remove', path: '/toString' }, 422],
    [{ op: 'replace', path: '/valueOf', value: 1 }, 422],
    [{ op: 'copy', from: '/name/length', path: '/multipleBirthInteger' }, 422],
    [{ op: 'move', from: '/constructor', path: '/active' }, 422],
    [{ op: 'copy', from: '/contact', path: '/name' }, 422],
    [{ op: 'move', from: '/contact/0', path: '/name' }, 422],
    [{ op: 'copy', from: 'name', path: '/name' }, 400],
    [{ op: 'move', path: '/name' }, 400],
    [{ op: 'add', path: '/name' }, 400],
    [{ op: 'add', path: 7, value: 1 }, 400],
    [{ op: 'swap', path: '/name' }, 400],
    [{ op: ['test'], path: '/name/0/family', value: 'a' }, 400],
    [{ op: ['remove'], path: '/name/0' }, 400],
    [{ op: 'remove', path: ['/name'] }, 400],
    [{ op: 'copy', from: ['/name/0'], path: '/contact' }, 400],
  ])('returns 422 if it cannot apply and 400 if it is malformed: %j, %i', (operation, status) => {
    expect(statusOf([operation])).toBe(status)
  })
})

it('a malformed operation is rejected before any operation is applied', () => {
  expect(
    statusOf([
      { op: 'test', path: '/name/0/family', value: 'other' },
      { op: 'swap', path: '/name' },
    ]),
  ).toBe(400)
  expect(
    statusOf([
      { op: 'remove', path: '/contact' },
      { op: 'move', path: '/name' },
    ]),
  ).toBe(400)
})

describe('an error', () => {
  it.each<[object, string, string]>([
    [{ op: 'remove', path: '/name/1' }, '[1].path', 'does not apply: its path leads nowhere (/name/1)'],
    [{ op: 'copy', from: '/contact/0', path: '/name' }, '[1].from', 'its from leads nowhere (/contact/0)'],
    [{ op: 'add', path: '/name/2/given/-', value: 'x' }, '[1].path', 'its path leads nowhere (/name/2/given/-)'],
    [{ op: 'test', path: '/name/0/family', value: 'x' }, '[1].path', 'does not hold (/name/0/family)'],
    [{ op: 'remove', path: '/Erika Mustermann' }, '[1].path', 'its path leads nowhere'],
    [{ op: 'add', path: 'name', value: 'x' }, '[1].path', 'its path is not a JSON Pointer'],
    [{ op: 'replace', path: '/name' }, '[1].value', 'malformed: it has no value'],
    [{ op: 'test', path: '/name' }, '[1].value', 'malformed: it has no value'],
    [{ op: 'swap', path: '/name' }, '[1].op', 'its op is one of add, remove, replace, move, copy, test'],
    [{ op: ['test'], path: '/name/0/family', value: 'a' }, '[1].op', 'its op is one of add,'],
    [['remove'], '[1]', 'an operation is an object'],
  ])('names the operation and the member at fault: %j: %s', (operation, expression, text) => {
    const first = { op: 'test', path: '/name/0/family', value: 'a' }
    const refused = () => patched([first, operation])
    expect(refused).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ expression, text: expect.stringContaining(text) })] }),
    )
    expect(refused).not.toThrow('Erika')
  })
})

describe('a value that a patch inserts', () => {
  it('is a copy, so the patch can be applied again', () => {
    const operations = [
      { op: 'add', path: '/contact', value: [{ name: { family: 'x' } }] },
      { op: 'replace', path: '/contact/0/name/family', value: 'y' },
      { op: 'copy', from: '/contact/0', path: '/contact/-' },
      { op: 'replace', path: '/contact/1/name/family', value: 'z' },
    ]
    const contact = [{ name: { family: 'y' } }, { name: { family: 'z' } }]
    expect([patched(operations), patched(operations)]).toEqual([
      { ...patient(), contact },
      { ...patient(), contact },
    ])
  })

  it('counts as work by its items and the characters of long texts', () => {
    const copies = (count: number) => Array.from({ length: count }, () => ({ op: 'copy', from: '/name', path: '/name/-' }))
    expect(() => patched(copies(4))).not.toThrow()
    expect(() => patched(copies(10))).toThrow(TooCostly)
    expect(() => patched([{ op: 'add', path: '/text', value: 'x'.repeat(100_000) }])).toThrow(TooCostly)
  })

  it('is rejected if it makes the resource deeper than JSON may be', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    const added = (levels: number) => [{ op: 'add', path: '/name/0/x', value: nested(levels) }]
    expect(parseJson(writeJson(patched(added(61))))).toBeDefined()
    expect(statusOf(added(62))).toBe(422)
    const into = (op: string, levels: number) => [
      { op: 'add', path: '/x', value: nested(levels) },
      { op, from: '/x', path: '/name/0/x' },
    ]
    for (const op of ['copy', 'move']) expect([op, statusOf(into(op, 61)), statusOf(into(op, 62))]).toEqual([op, 200, 422])
  })
})
