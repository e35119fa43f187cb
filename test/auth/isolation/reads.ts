/** Reads, versions and histories of everything there is, each with the status it must have. */

import type { TestResponse } from '../site.ts'
import { type Caller, isInScope, isOwnResource, maySee, maySeeAll, maySeeType, type StoredResource } from './oracle.ts'
import type { PopulatedSite } from './populated.ts'
import { type Population, TENANTS } from './population.ts'

/** `expected`: the status. `opened`: the resource that this read may show although no patient scope allows it. */
export type Read = {
  readonly target: string
  readonly headers?: Record<string, string>
  readonly expected: (who: Caller) => number
  readonly opened?: (who: Caller) => StoredResource | undefined
}

/** One who reads it might be asked about, as it stands in the tenant of who asks. */
function readsAbout({ type, id, versions }: StoredResource, { find }: Population): readonly Read[] {
  const at = (who: Caller): StoredResource => find(who.tenant, `${type}/${id}`)!
  const isSeen = (who: Caller, version: number): boolean => {
    const kept = at(who)
    return kept.versions[version] !== undefined && maySee(who, 'r', kept, kept.versions[version], find)
  }
  const guarded = (answer: (who: Caller) => number) => (who: Caller) => (isInScope(who, type, 'r') ? answer(who) : 403)
  const read = guarded((who) => (isSeen(who, versions.length - 1) && versions.at(-1)!.json !== undefined ? 200 : 404))
  const plain = (who: Caller) => (isOwnResource(who, type, id) ? (at(who).versions.at(-1)?.json === undefined ? 404 : 200) : read(who))
  const cached = (who: Caller) => (plain(who) === 200 ? 304 : plain(who))
  const opened = (who: Caller) => (isOwnResource(who, type, id) ? at(who) : undefined)
  const reads: Read[] = [
    { target: `/${type}/${id}`, expected: plain, opened },
    { target: `/${type}/${id}?_summary=true&_pretty=true`, expected: plain, opened },
    { target: `/${type}/${id}/$meta`, expected: read },
    { target: `/${type}/${id}/$validate`, expected: read },
    { target: `/${type}/${id}`, headers: { 'if-none-match': '*' }, expected: cached },
    { target: `/${type}/${id}`, headers: { 'if-none-match': `W/"${versions.length}"` }, expected: cached },
    { target: `/${type}/${id}/_history`, expected: guarded((who) => (at(who).versions.some((_, i) => isSeen(who, i)) ? 200 : 404)) },
    {
      target: `/${type}/${id}/_history?_count=1`,
      expected: guarded((who) => (at(who).versions.some((_, i) => isSeen(who, i)) ? 200 : 404)),
    },
    { target: `/${type}/${id}/_history/${versions.length + 1}`, expected: guarded(() => 404) },
    ...versions.map(
      ({ json }, i): Read => ({
        target: `/${type}/${id}/_history/${i + 1}`,
        expected: guarded((who) => (!isSeen(who, i) ? 404 : json === undefined ? 410 : 200)),
      }),
    ),
  ]
  if (type === 'Binary') reads.push({ target: `/${type}/${id}`, headers: { accept: 'text/plain' }, expected: read })
  return reads
}

const OF_TYPES: readonly Read[] = [
  ...['Patient', 'Observation', 'Device', 'Group', 'Organization', 'Binary', 'Questionnaire'].map(
    (type): Read => ({
      target: `/${type}/_history`,
      expected: (who) => (maySeeType(who, type, 's') ? 200 : 403),
    }),
  ),
  { target: '/_history', expected: (who) => (maySeeAll(who, 's') ? 200 : 403) },
  { target: '/metadata', expected: () => 200 },
  ...['Patient', 'Observation', 'Binary', 'Organization'].map(
    (type): Read => ({ target: `/${type}/$meta`, expected: (who) => (isInScope(who, type, 's') ? 200 : 403) }),
  ),
  { target: '/Observation/never.id', expected: (who) => (isInScope(who, 'Observation', 'r') ? 404 : 403) },
  { target: '/$reindex-status', expected: (who) => (who.scopes.includes('system/admin') ? 200 : 403) },
]

/** Of all there is. Both tenants have the same ids. */
export const readsOf = (population: Population): readonly Read[] => [
  ...population.all(TENANTS[0]).flatMap((kept) => readsAbout(kept, population)),
  ...OF_TYPES,
]

/** What is hidden reads as what never was, byte for byte. */
function unknownOf({ target }: Read): string {
  return target.replace(/[\w-]+\.id/, 'never.id')
}

const bytesOf = ({ text, headers }: TestResponse, target: string): string =>
  `${text} ${JSON.stringify({ ...headers, 'x-request-id': '' })}`.replaceAll(/[\w-]+\.id/g, target)

/** What is wrong with what somebody is answered, one line each: its status, what it tells, or that what is hidden is not as what never was. */
export async function findReadErrors({ ask, check }: PopulatedSite, who: Caller, read: Read): Promise<readonly string[]> {
  const { target, headers = {} } = read
  const answer = await ask(who, 'GET', target, { headers })
  const expected = read.expected(who)
  const leaks = check.leaksIn(answer, who, target, read.opened?.(who))
  const wrong: string[] = []
  if (answer.status !== expected || leaks.length > 0)
    wrong.push(`${target} ${JSON.stringify(headers)}: ${answer.status}, not ${expected}; ${leaks}`)
  const isDeleted = answer.text.includes('"deleted"')
  if (expected !== 404 || isDeleted || !target.includes('.id')) return wrong
  const never = await ask(who, 'GET', unknownOf(read), { headers })
  const [mine, others] = [bytesOf(answer, 'x'), bytesOf(never, 'x')]
  return mine === others ? wrong : [...wrong, `${target} is not as ${unknownOf(read)}: ${mine} is not ${others}`]
}
