/** Operations that look things up, asked by everybody: what they tell is what the oracle finds on plain JSON, and nothing of what is hidden. */
import { expect, it } from '@jest/globals'
import { headOf, inScope, type Json, tagsOf } from './oracle.ts'
import { withPopulated } from './populated.ts'
import { View } from './searches.ts'
import { nameOfWho, sampled, WHOS } from './whos.ts'

const FULL = process.env.FHIR_TEST_FULL === '1'
const world = withPopulated()

const LEVELS = ['', '/Patient', '/Observation', '/Device', '/Organization', '/Binary'] as const

it('$meta tells everybody the tags of what they may find, each once', async () => {
  const { population, ask, check } = world()
  const wrong: string[] = []
  let told = 0
  for (const who of sampled(WHOS, FULL ? 1 : 8, 0)) {
    const view = new View(who, population)
    for (const level of LEVELS) {
      const target = `${level}/$meta`
      const answer = await ask(who, 'GET', target)
      const type = level.slice(1)
      const found = view.found.filter((kept) => type === '' || kept.type === type).map((kept) => headOf(kept)!.json)
      const isAllowed = type === '' ? ['Patient', ...TYPES].some((each) => inScope(who, each, 's')) : inScope(who, type, 's')
      const tags = [...new Set(found.flatMap(tagsOf))].sort()
      const seen = answer.status === 200 ? (answer.body.parameter[0].valueMeta.tag ?? []).map(({ code }: Json) => code).sort() : []
      const leaks = check.leaksIn(answer, who, target)
      told += seen.length
      if (answer.status !== (isAllowed ? 200 : 403) || (isAllowed && seen.join() !== tags.join()) || leaks.length > 0)
        wrong.push(`${nameOfWho(who)} ${target}: ${answer.status} ${seen} is not ${tags}; ${leaks}`)
    }
  }
  expect(wrong.slice(0, 10)).toEqual([])
  expect(told).toBeGreaterThan(500)
})

/** Of the scopes that are asked with, where they name a type. */
const TYPES = ['Observation', 'Encounter', 'Condition', 'Group', 'Device', 'Binary', 'Medication']
