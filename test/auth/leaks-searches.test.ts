/**
 * Searches by everybody, of types, compartments and everything, with chains, what comes along, groups, totals, orders and pages: what is found is
 * what the oracle finds on plain JSON, and nothing is said of what is hidden.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { LeakCheck } from './leak-check.ts'
import { headOf, isAdministrator, type Json, type Who } from './oracle.ts'
import { type Population, populate } from './population.ts'
import { isAllowed, nameOf, type Search, searchesOf, View } from './searches.ts'
import { type Answer, BASE, openSite, type Site } from './site.ts'
import { nameOfWho, sampled, WHOS } from './whos.ts'

const FULL = process.env.FHIR_TEST_FULL === '1'
let site: Site
let population: Population
let check: LeakCheck

beforeAll(async () => {
  site = await openSite()
  population = await populate(site.ask)
  check = new LeakCheck(population)
})
afterAll(() => site.close())

type Found = {
  readonly status: number
  readonly matches: string[]
  readonly along: string[]
  readonly groups: string[]
  readonly total?: number
}

/** The same by an entry of a batch. */
const inBatch = async (who: Who, { target, headers = {} }: Search): Promise<Answer> => {
  const body = { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url: target.slice(1) } }] }
  const answer = await site.ask(who, 'POST', '/', { body, headers })
  const [{ response, resource }] = answer.body.entry
  return { ...answer, status: Number(response.status.slice(0, 3)), body: resource }
}

/** All its pages. */
async function found(who: Who, search: Search, way: 'alone' | 'in a batch', leaks: string[]): Promise<Found> {
  const { target, form, headers = {} } = search
  const asked = `${target} ${form}`
  const first = () => (form === undefined ? site.ask(who, 'GET', target, { headers }) : site.ask(who, 'POST', target, { body: form }))
  let answer = way === 'in a batch' ? await inBatch(who, search) : await first()
  const into: Found = { status: answer.status, matches: [], along: [], groups: [], total: answer.body?.total }
  for (;;) {
    leaks.push(...check.leaksIn(answer, who, asked))
    if (answer.status !== 200) return into
    const { entry = [], link = [] } = answer.body
    for (const { resource, search: how } of entry) {
      if (how.mode === 'outcome') continue
      ;(how.mode === 'match' ? into.matches : into.along).push(nameOf(resource))
      const [key, size] = how.extension?.[0].extension ?? []
      if (key !== undefined) into.groups.push(`${key.valueString} ${size.valueInteger}`)
    }
    const next = link.find(({ relation }: Json) => relation === 'next')?.url
    if (next === undefined) return into
    answer = await site.ask(who, 'GET', next.slice(BASE.length))
  }
}

function expectedOf(view: View, search: Search): Omit<Found, 'status'> {
  const { types, match, along, groups, counts } = search
  const matches = view.found
    .filter(({ type }) => types === undefined || types.includes(type))
    .map((kept) => headOf(kept)!.json)
    .filter((json) => match(json, view))
  const names = matches.map(nameOf)
  if (counts) return { matches: [], along: [], groups: [], total: names.length }
  const others = (along?.(matches, view) ?? []).map(nameOf).filter((name) => !names.includes(name))
  if (groups === undefined) return { matches: names, along: others, groups: [], total: names.length }
  const keys = matches.flatMap((json) => groups(json).map((key) => [key, nameOf(json)] as const))
  const sizeOf = (key: string) => keys.filter(([each]) => each === key).length
  return { matches: keys.map(([, name]) => name), along: [], groups: keys.map(([key]) => `${key} ${sizeOf(key)}`), total: names.length }
}

const sorted = ({ matches, along, groups, total }: Omit<Found, 'status'>) =>
  JSON.stringify([matches.sort(), [...new Set(along)].sort(), groups.sort(), total])

it(
  'find for everybody what they may see, and count nothing else',
  async () => {
    const wrong: string[] = []
    let asked = 0
    let hidden = 0
    for (const [i, who] of WHOS.entries()) {
      const view = new View(who, population)
      for (const search of sampled(searchesOf(who.tenant), FULL ? 6 : 40, i)) {
        const way = search.form === undefined && (i + asked) % 5 === 0 ? 'in a batch' : 'alone'
        const leaks: string[] = []
        const { status, ...answer } = await found(who, search, way, leaks)
        asked++
        const expected = isAllowed(who, search, isAdministrator(who)) ? 200 : 403
        const told = status === 200 && expected === 200 ? [sorted(answer), sorted(expectedOf(view, search))] : ['', '']
        if (expected === 200 && view.found.length < population.all(who.tenant).length) hidden++
        if (status !== expected || leaks.length > 0 || told[0] !== told[1])
          wrong.push(
            `${nameOfWho(who)} ${way}: ${search.target} ${search.form ?? ''}: ${status}, not ${expected}; ${leaks}; ${told.join(' is not ')}`,
          )
      }
    }
    expect(wrong.slice(0, 15)).toEqual([])
    expect(asked).toBeGreaterThan(FULL ? 6_000 : 1_000)
    expect(hidden).toBeGreaterThan(asked / 8)
  },
  5 * 60_000,
)
