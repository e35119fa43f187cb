/** The work of a check is counted, so that elements checked more often than necessary become visible. */
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

it('a path is followed once per item and once per slice', () => {
  const long = many(100, () => 'assigner').join('.')
  const [short, far] = ['system', long].map((path) => workOf(identified(30), sliced(30, path)))
  expect(far! - short!).toBeLessThan((30 + 30) * 100 * 2)
})

it('a path in a slice is followed once for all resources', () => {
  const tree = sliced(30, many(100, () => 'assigner').join('.'))
  const [first, second] = [workOf(identified(1), tree), workOf(identified(1), tree)]
  expect(first! - second!).toBeGreaterThanOrEqual(30 * 100)
  expect(workOf(identified(1), tree)).toBe(second)
})

it('elements without rules need no work', () => {
  const named: Resource = { resourceType: 'Patient', name: many(100, () => ({ given: ['a', 'b'], period: { start: '2000' } })) }
  const silent = ['Patient.name', 'Patient.name.given', 'Patient.name.period', 'Patient.name.period.start'].map((id) => ({ id }))
  expect(workOf(named, treeWith([...silent, { id: 'Patient.name', slicing: { discriminators: [], rules: 'open' } }]))).toBe(
    workOf(named, treeWith([])),
  )
  expect(workOf(named, treeWith([...silent, { id: 'Patient.name.period.start', maxLength: 9 }]))).toBeGreaterThan(
    workOf(named, treeWith([])) + 100,
  )
})
