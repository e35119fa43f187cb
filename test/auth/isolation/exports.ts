/** Exports from beginning to end, as somebody asks for them, and what somebody must get. */
import { eventually } from '../../fixtures/eventually.ts'
import { BASE_URL, type CallerRequest, type RequestContent, type TestResponse } from '../site.ts'
import { type Caller, clausesOf, currentVersionOf, isInScope, isLive, type Json, maySee, maySeeAll, type StoredResource } from './oracle.ts'
import type { Population } from './population.ts'

export type ExportRun = {
  readonly kickOff: TestResponse
  /** The last poll. */
  readonly poll?: TestResponse
  /** All of them, by name of the file. */
  readonly files: readonly (readonly [name: string, answer: TestResponse])[]
}

export const KICK_OFF_HEADERS = { accept: 'application/fhir+json', prefer: 'respond-async' }

/** `meanwhile`: is called before each poll. */
export async function runExport(
  ask: CallerRequest,
  who: Caller,
  target: string,
  sent: RequestContent = {},
  meanwhile = () => {},
): Promise<ExportRun> {
  const headers = { ...KICK_OFF_HEADERS, ...sent.headers }
  const kickOff = await ask(who, sent.body === undefined ? 'GET' : 'POST', target, { ...sent, headers })
  const link = kickOff.headers['content-location']?.slice(BASE_URL.length)
  if (link === undefined) return { kickOff, files: [] }
  const look = () => {
    meanwhile()
    return ask(who, 'GET', link)
  }
  const poll = await eventually(look, { until: ({ status }) => status !== 202, every: 10 })
  const { output = [], error = [], deleted = [] } = poll.body
  const urls = [...output, ...error, ...deleted].map(({ url }: Json) => url.slice(BASE_URL.length))
  const files = urls.map(async (url: string) => [nameOf(url), await ask(who, 'GET', url)] as const)
  return { kickOff, poll, files: await Promise.all(files) }
}

const nameOf = (url: string): string => /([^/]+)\.ndjson/.exec(url)![1]!

/** Of the resources, without what is told of errors. */
export const linesOf = ({ files }: ExportRun): readonly Json[] =>
  files
    .filter(([name]) => name !== 'error')
    .flatMap(([, { text }]) => text.split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

export const namesIn = (exported: ExportRun): readonly string[] =>
  linesOf(exported)
    .map(({ resourceType, id }) => `${resourceType}/${id}`)
    .toSorted()

/** Some type may be read and found. */
export const mayExport = (who: Caller): boolean => {
  const typesOf = (letter: string) => clausesOf(who).flatMap(({ type, letters }) => (letters.includes(letter) ? [type] : []))
  return typesOf('r').some((type) => typesOf('s').some((each) => each === type || each === '*' || type === '*'))
}

/** It may be read, and found. What a Binary without a context belongs to is known to who sees all alone. */
const isExported = (who: Caller, kept: StoredResource, { find }: Population): boolean => {
  const head = currentVersionOf(kept)!
  const isFound = kept.type !== 'Binary' || head.json?.securityContext !== undefined || maySeeAll(who, 's')
  return (
    isLive(kept) &&
    isFound &&
    (['r', 's'] as const).every((letter) => isInScope(who, kept.type, letter) && maySee(who, letter, kept, head, find))
  )
}

/** All of the tenant that who asks gets, as `Type/id`. */
export const exportableResources = (who: Caller, population: Population): readonly StoredResource[] =>
  population.all(who.tenant).filter((kept) => isExported(who, kept, population))

export const nameOfResource = ({ type, id }: StoredResource): string => `${type}/${id}`
