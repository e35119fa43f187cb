/** Rules of US Core broken on its own examples, and valid neighbours, as HAPI's validator judged them. https://hl7.org/fhir/us/core/STU6.1/ */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { checkProfiles } from '../fixtures/us-core/findings.ts'
import { readProfiled, SIDES, type Side, title } from './cases.ts'
import { isAbout, PROFILED_DIFFERENCES } from './differences.ts'
import { US_CORE } from './generate/us-core.ts'
import { changedExample } from './us-core-cases.ts'

const cases = readProfiled('us-core')
type Row = { readonly each: (typeof cases)[number]; readonly side: Side; readonly isFound: boolean; readonly isRefused: boolean }
const rows: Row[] = []

beforeAll(async () => {
  for (const each of cases)
    for (const side of SIDES) {
      const resource = changedExample(each, side) as Parameters<typeof checkProfiles>[0]
      const { issues } = await checkProfiles(resource, [US_CORE + each.profile])
      const isFound = [...validate(resource), ...issues].some(({ severity }) => severity === 'error')
      rows.push({ each, side, isFound, isRefused: each.verdicts[side].length > 0 })
    }
})

const differenceOf = ({ each, side }: Row) => PROFILED_DIFFERENCES.filter((row) => isAbout(row, each, side))
const isWrong = (row: Row): boolean => differenceOf(row)[0]?.isWrong ?? row.isRefused

it('each kind of rule is broken at least ten times', () => {
  const kinds = Map.groupBy(cases, ({ category }) => category)
  expect(kinds.size).toBe(10)
  for (const [kind, list] of kinds) expect([kind, list.length >= 10]).toEqual([kind, true])
})

describe.each([...new Set(cases.map(({ category }) => category))])('%s', (category) => {
  const own = (side: Side) => rows.filter(({ each, ...row }) => each.category === category && row.side === side)

  it('has its violations detected, 90 of 100', () => {
    const wrong = own('break').filter(isWrong)
    const missed = wrong.filter(({ isFound }) => !isFound).map(({ each }) => title(each))
    const figures = `${wrong.length - missed.length} of ${wrong.length} found`
    expect({ isEnough: missed.length <= wrong.length * 0.1, figures, missed }).toEqual(expect.objectContaining({ isEnough: true }))
    expect(wrong.length).toBeGreaterThanOrEqual(10)
  })

  it('has no valid neighbour rejected', () => {
    const right = own('neighbour').filter((row) => !isWrong(row))
    expect(right.length).toBeGreaterThanOrEqual(10)
    expect(right.filter(({ isFound }) => isFound).map(({ each }) => title(each))).toEqual([])
  })
})

it('98 of 100 violations are detected', () => {
  const wrong = rows.filter(isWrong)
  const missed = wrong.filter(({ isFound }) => !isFound).map(({ each }) => title(each))
  const figures = `${wrong.length - missed.length} of ${wrong.length} found`
  expect({ isEnough: missed.length <= wrong.length * 0.02, figures, missed }).toEqual(expect.objectContaining({ isEnough: true }))
})

it('each difference to the judge is decided by a rule', () => {
  const differing = rows.filter(({ isFound, isRefused }) => isFound !== isRefused)
  expect(differing.filter((row) => differenceOf(row).length !== 1).map(({ each, side }) => `${side} ${title(each)}`)).toEqual([])
  const needed = new Set(differing.flatMap(differenceOf))
  expect(PROFILED_DIFFERENCES.filter((row) => !needed.has(row))).toEqual([])
})
