/**
 * Searches by everybody, of types, compartments and everything, with chains, what comes along, groups, totals, orders and pages: what is found is
 * what the oracle finds on plain JSON, and nothing is said of what is hidden.
 */
import { expect, it } from '@jest/globals'
import { firstSeed, isWhole, stepOf } from '../../fixtures/long-runs.ts'
import { isAdministrator } from './oracle.ts'
import { withPopulated } from './populated.ts'
import { wrongOfSearch } from './searched.ts'
import { isAllowed, searchesOf, View } from './searches.ts'
import { nameOfWho, sampled, WHOS } from './whos.ts'

const world = withPopulated()

it(
  'searches find and count only resources that the client may see',
  async () => {
    const { population } = world()
    const wrong: string[] = []
    let asked = 0
    let hidden = 0
    for (const [i, who] of WHOS.entries()) {
      const view = new View(who, population)
      for (const search of sampled(searchesOf(who.tenant), stepOf(40, 6), i + firstSeed())) {
        const way = search.form === undefined && (i + asked) % 5 === 0 ? 'in a batch' : 'alone'
        for (const each of await wrongOfSearch(world(), view, search, way)) wrong.push(`${nameOfWho(who)} ${each}`)
        asked++
        if (isAllowed(who, search, isAdministrator(who)) && view.found.length < population.all(who.tenant).length) hidden++
      }
    }
    expect(wrong.slice(0, 15)).toEqual([])
    expect(asked).toBeGreaterThan(isWhole ? 6_000 : 1_000)
    expect(hidden).toBeGreaterThan(asked / 8)
  },
  5 * 60_000,
)
