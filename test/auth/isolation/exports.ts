/** Exports from beginning to end, as somebody asks for them, and what somebody must get. */
import { eventually } from '../../fixtures/eventually.ts'
import { type Answer, type Ask, BASE, type Sent } from '../site.ts'
import { clausesOf, headOf, inScope, isLive, type Json, type Kept, sees, seesAll, type Who } from './oracle.ts'
import type { Population } from './population.ts'

export type Exported = {
  readonly kickOff: Answer
  /** The last poll. */
  readonly poll?: Answer
  /** All of them, by name of the file. */
  readonly files: readonly (readonly [name: string, answer: Answer])[]
}

export const KICK_OFF = { accept: 'application/fhir+json', prefer: 'respond-async' }

/** `meanwhile`: is called before each poll. */
export async function exportedTo(ask: Ask, who: Who, target: string, sent: Sent = {}, meanwhile = () => {}): Promise<Exported> {
  const headers = { ...KICK_OFF, ...sent.headers }
  const kickOff = await ask(who, sent.body === undefined ? 'GET' : 'POST', target, { ...sent, headers })
  const link = kickOff.headers['content-location']?.slice(BASE.length)
  if (link === undefined) return { kickOff, files: [] }
  const look = () => {
    meanwhile()
    return ask(who, 'GET', link)
  }
  const poll = await eventually(look, { until: ({ status }) => status !== 202, every: 10 })
  const { output = [], error = [], deleted = [] } = poll.body
  const urls = [...output, ...error, ...deleted].map(({ url }: Json) => url.slice(BASE.length))
  const files = urls.map(async (url: string) => [nameOf(url), await ask(who, 'GET', url)] as const)
  return { kickOff, poll, files: await Promise.all(files) }
}

const nameOf = (url: string): string => /([^/]+)\.ndjson/.exec(url)![1]!

/** Of the resources, without what is told of errors. */
export const linesOf = ({ files }: Exported): readonly Json[] =>
  files
    .filter(([name]) => name !== 'error')
    .flatMap(([, { text }]) => text.split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

export const namesIn = (exported: Exported): readonly string[] =>
  linesOf(exported)
    .map(({ resourceType, id }) => `${resourceType}/${id}`)
    .toSorted()

/** Some type may be read and found. */
export const mayExport = (who: Who): boolean => {
  const typesOf = (letter: string) => clausesOf(who).flatMap(({ type, letters }) => (letters.includes(letter) ? [type] : []))
  return typesOf('r').some((type) => typesOf('s').some((each) => each === type || each === '*' || type === '*'))
}

/** It may be read, and found. What a Binary without a context belongs to is known to who sees all alone. */
const isExported = (who: Who, kept: Kept, { find }: Population): boolean => {
  const head = headOf(kept)!
  const isFound = kept.type !== 'Binary' || head.json?.securityContext !== undefined || seesAll(who, 's')
  return (
    isLive(kept) &&
    isFound &&
    (['r', 's'] as const).every((letter) => inScope(who, kept.type, letter) && sees(who, letter, kept, head, find))
  )
}

/** All of the tenant that who asks gets, as `Type/id`. */
export const exportable = (who: Who, population: Population): readonly Kept[] =>
  population.all(who.tenant).filter((kept) => isExported(who, kept, population))

export const nameOfKept = ({ type, id }: Kept): string => `${type}/${id}`
