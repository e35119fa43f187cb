/** What `$everything` is asked for, and the links of its pages. https://hl7.org/fhir/R4/patient-operation-everything.html */
import type { Link } from '../../fhir/bundle.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { Window } from '../../search/clinical-dates.ts'
import { pageSize } from '../../search/query/page-size.ts'
import { checkOnce, MOST_PARAMETERS, type Pairs } from '../../search/query/parameter-pairs.ts'
import { INSTANT, pairsPosted, TEXT } from '../../search/query/posted-parameters.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { mustPage, openCursor, type Paged, sealCursor } from '../searching/cursor.ts'
import { dateAsked, queryText, READ_BY_EVERY_INTERACTION, usedPairs } from '../searching/page-limits.ts'

/**
 * Where a page goes on. `own`: with what belongs to the patient, after this one; `gathering`: by looking for what that refers to, as far as it
 * came; `referred`: with that, after the one of this name. `kept`: the key of what was gathered.
 */
export type Place =
  | { readonly in: 'own'; readonly after?: { readonly type: string; readonly id: string } }
  | { readonly in: 'gathering'; readonly kept: string }
  | { readonly in: 'referred'; readonly kept: string; readonly after?: string }

/** What a paging link carries, sealed. `posted`: the parameters that came in a body. */
type Cursor = { readonly place: Place; readonly posted: Pairs }

export type AskedEverything = {
  /** Resources of a page; absent: as many as it holds. */
  readonly count?: number
  /** By the clinical dates of what belongs to the patient. */
  readonly window: Window
  /** Only versions with lastUpdated > since. */
  readonly since?: number
  /** Absent: all. */
  readonly types?: ReadonlySet<string>
  /** Absent: the first page. */
  readonly place?: Place
  readonly paged: Paged
  /** Of the URL, as links show them. */
  readonly shown: Pairs
  readonly posted: Pairs
}

type Sealing = Pick<Ports, 'seal' | 'clock'>

/** FhirError 400: a parameter that cannot be meant, a cursor that is not of this; 410: one that has expired. */
export function everythingAsked({ seal, clock }: Sealing, request: FhirRequest): AskedEverything {
  const [, text] = request.parameters.find(([name]) => name === '_cursor') ?? []
  const inUrl = request.parameters.filter(([name]) => name !== '_cursor')
  const cursor = text === undefined ? undefined : openCursor<Cursor>(seal, clock, text, request)
  const posted = cursor?.position.posted ?? (request.resource === undefined ? [] : pairsPosted(request.resource, POSTED))
  checkOnce([...request.parameters, ...posted], GIVEN_ONCE)
  const state = read(request, [...inUrl, ...posted])
  const { count, window, since, types } = state
  const paged = { caller: request, path: pathOf(request), of: [window.low, window.high, since, types && [...types].sort()] }
  if (cursor !== undefined) mustPage(cursor, paged)
  return {
    ...(count === undefined ? {} : { count }),
    ...(since === undefined ? {} : { since }),
    ...(types === undefined ? {} : { types }),
    ...(cursor === undefined ? {} : { place: cursor.position.place }),
    ...{ window, paged, posted, shown: usedPairs(inUrl.filter(isKnown), { count }) },
  }
}

const PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['start', ['valueDate', 'valueDateTime', 'valueString']],
  ['end', ['valueDate', 'valueDateTime', 'valueString']],
  ['_since', INSTANT],
  ['_type', TEXT],
  ['_count', ['valueInteger', 'valueString']],
])

const isKnown = ([name]: Pairs[number]): boolean => PARAMETERS.has(name) || READ_BY_EVERY_INTERACTION.has(name)

/** Types are joined. */
const GIVEN_ONCE: ReadonlySet<string> = new Set(['start', 'end', '_since', '_count', '_cursor', '_summary', '_elements'])

const POSTED = { to: '$everything', most: MOST_PARAMETERS, kinds: PARAMETERS }

/** Below the base. */
const pathOf = ({ type, id }: FhirRequest): string => `/${type}/${id}/$everything`

type State = { count?: number; window: Window; since?: number; types?: Set<string> }

function read({ preferences, reading }: FhirRequest, pairs: Pairs): State {
  const state: State = { window: {} }
  for (const [name, value] of pairs) {
    // A plus sign that was not percent-encoded arrives as a space.
    const date = () => dateAsked(name, value.replace(' ', '+'), reading)
    if (name === 'start') state.window = { ...state.window, low: date().low }
    else if (name === 'end') state.window = { ...state.window, high: date().high }
    else if (name === '_since') state.since = date().low
    else if (name === '_type') state.types = new Set([...(state.types ?? []), ...typesIn(value)])
    else if (name === '_count') state.count = Math.max(1, pageSize(value))
    else if (preferences.handling === 'strict' && !READ_BY_EVERY_INTERACTION.has(name))
      throw fhirError(400, 'not-found', `Unknown parameter ${name.slice(0, 100)} of $everything`)
  }
  const { low, high } = state.window
  if (low !== undefined && high !== undefined && high <= low) throw fhirError(400, 'value', 'The end is before the start')
  return state
}

function typesIn(value: string): readonly string[] {
  const types = value.split(',').map((type) => type.trim())
  const unknown = types.find((type) => !isResourceType(type))
  if (unknown !== undefined) throw fhirError(400, 'value', `_type names ${JSON.stringify(unknown.slice(0, 64))}, which is no type of R4`)
  return types
}

export function linksTo({ seal, clock }: Sealing, request: FhirRequest, asked: AskedEverything, next: Place | undefined): readonly Link[] {
  const { shown, posted, paged } = asked
  const url = (pairs: Pairs): string => `${request.baseUrl}${pathOf(request)}${pairs.length === 0 ? '' : `?${queryText(pairs)}`}`
  const self: Link = { relation: 'self', url: url(shown) }
  if (next === undefined) return [self]
  const cursor: Cursor = { place: next, posted }
  return [self, { relation: 'next', url: url([...shown, ['_cursor', sealCursor(seal, clock, cursor, paged)]]) }]
}
