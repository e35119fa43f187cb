/** What somebody finds, page by page, and what the oracle finds on plain JSON. */

import { BASE_URL, type CallerRequest, type TestResponse } from '../site.ts'
import { type Caller, currentVersionOf, isAdministrator, type Json } from './oracle.ts'
import type { PopulatedSite } from './populated.ts'
import { type CallerView, isAllowed, nameOf, type Search } from './searches.ts'

export type SearchMode = 'alone' | 'in a batch'

type Found = {
  readonly status: number
  readonly matches: string[]
  readonly along: string[]
  readonly groups: string[]
  readonly total?: number
}

/** The same by an entry of a batch. */
const inBatch = async (ask: CallerRequest, who: Caller, { target, headers = {} }: Search): Promise<TestResponse> => {
  const body = { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url: target.slice(1) } }] }
  const answer = await ask(who, 'POST', '/', { body, headers })
  const [{ response, resource }] = answer.body.entry
  return { ...answer, status: Number(response.status.slice(0, 3)), body: resource }
}

/** All its pages. */
async function found({ ask, check }: PopulatedSite, who: Caller, search: Search, way: SearchMode, leaks: string[]): Promise<Found> {
  const { target, form, headers = {} } = search
  const asked = `${target} ${form}`
  const first = () => (form === undefined ? ask(who, 'GET', target, { headers }) : ask(who, 'POST', target, { body: form }))
  let answer = way === 'in a batch' ? await inBatch(ask, who, search) : await first()
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
    answer = await ask(who, 'GET', next.slice(BASE_URL.length))
  }
}

function expectedOf(view: CallerView, search: Search): Omit<Found, 'status'> {
  const { types, match, along, groups, counts } = search
  const matches = view.found
    .filter(({ type }) => types === undefined || types.includes(type))
    .map((kept) => currentVersionOf(kept)!.json)
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

/** What is wrong, one line each. `view`: what who asks may find. */
export async function findSearchErrors(
  world: PopulatedSite,
  view: CallerView,
  search: Search,
  way: SearchMode,
): Promise<readonly string[]> {
  const { who } = view
  const leaks: string[] = []
  const { status, ...answer } = await found(world, who, search, way, leaks)
  const expected = isAllowed(who, search, isAdministrator(who)) ? 200 : 403
  const told = status === 200 && expected === 200 ? [sorted(answer), sorted(expectedOf(view, search))] : ['', '']
  if (status === expected && leaks.length === 0 && told[0] === told[1]) return []
  return [`${way}: ${search.target} ${search.form ?? ''}: ${status}, not ${expected}; ${leaks}; ${told.join(' is not ')}`]
}
