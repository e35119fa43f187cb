/** Breaks made of HL7's definitions and their valid neighbours, as HAPI's validator judged them. https://hl7.org/fhir/R4/validation.html */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { type JudgedCase, read, resourceOf, type Side, title } from './cases.ts'
import { DIFFERENCES, isAbout } from './differences.ts'
import { casesOf } from './generate/cases.ts'
import { seeds as generatedSeeds } from './generate/seeds.ts'

const { seeds, cases } = read('base')

type Row = { readonly each: JudgedCase; readonly side: Side; readonly isFound: boolean; readonly isRefused: boolean }

const rows: readonly Row[] = cases.flatMap((each) =>
  (['break', 'neighbour'] as const).map((side) => ({
    each,
    side,
    isFound: validate(resourceOf(seeds, each, side)).some(({ severity }) => severity === 'error'),
    isRefused: each.verdicts[side].length > 0,
  })),
)

const differenceOf = ({ each, side }: Row) => DIFFERENCES.filter((row) => isAbout(row, each, side))

/** What is wrong: the judge says so, or R4 does. */
const isWrong = (row: Row): boolean => differenceOf(row)[0]?.isWrong ?? row.isRefused

describe('the cases', () => {
  it('are at least 500 breaks of 30 types in 12 categories', () => {
    expect(cases.length).toBeGreaterThanOrEqual(500)
    expect(new Set([...seeds.values()].map(({ resourceType }) => resourceType)).size).toBeGreaterThanOrEqual(30)
    expect(new Set(cases.map(({ category }) => category)).size).toBe(12)
  })

  it('equal those that are generated from the definitions', () => {
    const all = generatedSeeds()
    expect([...seeds]).toEqual([...all])
    expect(cases.map(({ verdicts: _, ...each }) => each)).toEqual(JSON.parse(JSON.stringify(casesOf(all))))
  })

  it('have valid seeds', () => {
    expect([...seeds.values()].filter((seed) => validate(seed).length > 0)).toEqual([])
  })
})

describe('invalid resources', () => {
  const wrong = rows.filter(isWrong)
  const figuresOf = (list: readonly Row[]) => `${list.filter(({ isFound }) => isFound).length} of ${list.length} found`

  it('are detected: 98 of 100', () => {
    const missed = wrong.filter(({ isFound }) => !isFound)
    const isEnough = missed.length <= wrong.length * 0.02
    expect({ isEnough, figures: figuresOf(wrong), missed: isEnough ? [] : missed.map(({ each }) => title(each)) }).toEqual(
      expect.objectContaining({ isEnough: true }),
    )
  })

  it.each([...Map.groupBy(wrong, ({ each }) => each.category)])('are detected, 90 of 100: %s', (_, list) => {
    const missed = list.filter(({ isFound }) => !isFound)
    const isEnough = missed.length <= list.length * 0.1
    expect({ isEnough, figures: figuresOf(list), missed: missed.map(({ each }) => title(each)) }).toEqual(
      expect.objectContaining({ isEnough: true }),
    )
  })
})

it('valid neighbours are not rejected', () => {
  const right = rows.filter((row) => row.side === 'neighbour' && !isWrong(row))
  expect(right.length).toBeGreaterThanOrEqual(500)
  expect(right.filter(({ isFound }) => isFound).map(({ each }) => title(each))).toEqual([])
})

describe('a difference to the judge', () => {
  const differing = rows.filter(({ isFound, isRefused }) => isFound !== isRefused)

  it('has a passage of R4 that decides it', () => {
    expect(differing.filter((row) => differenceOf(row).length !== 1).map(({ each, side }) => `${side} ${title(each)}`)).toEqual([])
  })

  it('occurs for each listed passage', () => {
    const needed = new Set(differing.flatMap(differenceOf))
    expect(DIFFERENCES.filter((row) => !needed.has(row))).toEqual([])
  })
})
