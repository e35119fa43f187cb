/**
 * Searches by everybody, of types, compartments and everything, with chains, what comes along, groups, totals, orders and pages: what is found is
 * what the oracle finds on plain JSON, and nothing is said of what is hidden.
 */
import { expect, it } from '@jest/globals'
import { caseStepOf, firstSeed, isFullRun } from '../../fixtures/long-runs.ts'
import { isAdministrator } from './oracle.ts'
import { withPopulatedSite } from './populated.ts'
import { findSearchErrors } from './searched.ts'
import { CallerView, isAllowed, searchesOf } from './searches.ts'
import { CALLERS, nameOfCaller, sampleCells } from './whos.ts'

const world = withPopulatedSite()

it(
  'searches find and count only resources that the client may see',
  async () => {
    const { population } = world()
    const wrong: string[] = []
    let asked = 0
    let hidden = 0
    for (const [i, who] of CALLERS.entries()) {
      const view = new CallerView(who, population)
      for (const search of sampleCells(searchesOf(who.tenant), caseStepOf(40, 6), i + firstSeed())) {
        const way = search.form === undefined && (i + asked) % 5 === 0 ? 'in a batch' : 'alone'
        for (const each of await findSearchErrors(world(), view, search, way)) wrong.push(`${nameOfCaller(who)} ${each}`)
        asked++
        if (isAllowed(who, search, isAdministrator(who)) && view.found.length < population.all(who.tenant).length) hidden++
      }
    }
    expect(wrong.slice(0, 15)).toEqual([])
    expect(asked).toBeGreaterThan(isFullRun ? 6_000 : 1_000)
    expect(hidden).toBeGreaterThan(asked / 8)
  },
  5 * 60_000,
)
