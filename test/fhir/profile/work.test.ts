/** What a check takes: it counts what it looks at, so that what is looked at more often than it has to be shows. */
import { expect, it } from '@jest/globals'
import { checkProfiles } from '../../../lambdas/fhir/profile/check/profile-check.ts'
import type { ProfileElement } from '../../../lambdas/fhir/profile/definition.ts'
import { type ProfileTree, treeOf } from '../../../lambdas/fhir/profile/profile-tree.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const treeWith = (elements: readonly ProfileElement[]): ProfileTree =>
  treeOf({ url: 'http://example.org/profile', type: 'Patient', isWhole: true, elements })
const MOST = 1_000_000
const nothing = (): undefined => undefined

function workOf(resource: Resource, tree: ProfileTree): number {
  const work = { left: MOST }
  const pieces = checkProfiles(resource, [tree], { tree: nothing, valueSet: nothing, codeSystem: nothing }, work)
  while (pieces.next().done !== true);
  return MOST - work.left
}

const identified = (count: number): Resource => ({ resourceType: 'Patient', identifier: many(count, (i) => ({ system: `x${i}` })) })

const sliced = (count: number, path: string): ProfileTree =>
  treeWith([
    { id: 'Patient.identifier', slicing: { discriminators: [{ type: 'value', path }], rules: 'open' } },
    ...many(count, (i): ProfileElement[] => [
      { id: `Patient.identifier:s${i}`, max: 1 },
      { id: `Patient.identifier:s${i}.system`, fixed: `s${i}` },
    ]).flat(),
  ])

it('follows a path once in each item and once in each slice, however many slices and items there are', () => {
  const long = many(100, () => 'assigner').join('.')
  const [short, far] = ['system', long].map((path) => workOf(identified(30), sliced(30, path)))
  expect(far! - short!).toBeLessThan((30 + 30) * 100 * 2)
})

it('follows a path in a slice once for all resources', () => {
  const tree = sliced(30, many(100, () => 'assigner').join('.'))
  const [first, second] = [workOf(identified(1), tree), workOf(identified(1), tree)]
  expect(first! - second!).toBeGreaterThanOrEqual(30 * 100)
  expect(workOf(identified(1), tree)).toBe(second)
})

it('passes over elements of which nothing is said', () => {
  const named: Resource = { resourceType: 'Patient', name: many(100, () => ({ given: ['a', 'b'], period: { start: '2000' } })) }
  const silent = ['Patient.name', 'Patient.name.given', 'Patient.name.period', 'Patient.name.period.start'].map((id) => ({ id }))
  expect(workOf(named, treeWith([...silent, { id: 'Patient.name', slicing: { discriminators: [], rules: 'open' } }]))).toBe(
    workOf(named, treeWith([])),
  )
  expect(workOf(named, treeWith([...silent, { id: 'Patient.name.period.start', maxLength: 9 }]))).toBeGreaterThan(
    workOf(named, treeWith([])) + 100,
  )
})
