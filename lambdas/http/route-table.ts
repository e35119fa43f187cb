/** Finds the route of a request. A static segment takes precedence over a variable one. */
import {
  ENDPOINT_ROUTES,
  type EndpointCode,
  type EndpointRoute,
  type InteractionCode,
  isEndpointCode,
  isHeadAllowed,
  ROUTES,
  type Route,
} from '../catalogue/catalogue.ts'
import { suggestNames } from '../fhir/near-names.ts'
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { type BaseUrls, baseUrlOf } from '../fhir/references.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { RequestContent } from '../interactions/interaction.ts'

/** Route of a request. `named`: values of the variables in its path. */
export type RouteMatch = {
  readonly interaction: InteractionCode | EndpointCode
  readonly named: Pick<RequestContent, 'type' | 'compartment' | 'id' | 'versionId' | 'file'>
}

/** Parts of a path, empty ones included, from which on the path is answered 404 without further parsing. Every valid path has fewer. */
const MOST_PARTS = 100

/**
 * Returns the route of a path. `path`: below the base, percent-encoded.
 * Throws FhirError 404 for an unknown path, 405 for a method that the path lacks, 400 for a malformed path.
 */
export function matchRoute(method: string, path: string): RouteMatch {
  const [row, segments] = rowOf(path)
  if (row === undefined) throw fhirError(404, 'not-found', `No interaction of this server has this path${operationAdvice(segments)}`)
  const interaction = row.interactions.get(method)
  if (interaction === undefined) throw notAllowed(method, row)
  const variables = variablesOf(row, segments)
  if (variables.owner === undefined) return { interaction, named: variables }
  const { owner, ownerId, ...named } = variables
  return { interaction, named: { ...named, compartment: `${owner}/${ownerId}` } }
}

/**
 * Returns the methods of a path for the header Allow: only OPTIONS if the path or its type is unknown.
 * Throws FhirError 400 for a malformed path.
 */
export function allowHeaderOf(path: string): string {
  const [row, segments] = rowOf(path)
  if (row === undefined) return 'OPTIONS'
  const { type = KNOWN, owner = KNOWN } = variablesOf(row, segments)
  return isResourceType(type) && isResourceType(owner) ? allowOf(row) : 'OPTIONS'
}

const KNOWN = 'Patient'

/** Returns the table row that matches the path, or undefined, and the decoded segments of the path. */
function rowOf(path: string): readonly [row: Row | undefined, segments: readonly string[]] {
  const parts = path.split('/', MOST_PARTS)
  const segments = parts.filter((segment) => segment !== '').map(decode)
  // guard: url-parts-limit
  if (parts.length === MOST_PARTS) return [undefined, segments]
  const row =
    TABLE.get(segments.length)?.find((each) => fits(each, segments)) ??
    REST.find((each) => each.parts.length <= segments.length && fits(each, segments))
  return [row, segments]
}

export type EntryMatch = Omit<RouteMatch, 'interaction'> & {
  readonly interaction: InteractionCode
  readonly path: string
  readonly query: string
}

/**
 * Returns the route of an entry of a Bundle. `url`: relative to the base, or with a base of this server.
 * Throws like `matchRoute`, and FhirError 400 for a path of an endpoint, such as those of the authorization server.
 */
export function matchEntry({ method, url }: { readonly method: string; readonly url: string }, bases: BaseUrls): EntryMatch {
  const below = url.slice(baseUrlOf(url, bases)?.length ?? 0)
  const at = below.indexOf('?')
  const [path, query] = at === -1 ? [below, ''] : [below.slice(0, at), below.slice(at + 1)]
  const { interaction, named } = matchRoute(method, path)
  if (isEndpointCode(interaction)) throw fhirError(400, 'not-supported', `${method} of this url cannot be an entry of a Bundle`)
  return { interaction, named, path, query }
}

/** Part of a path: a static segment, the name of a variable, or a variable that matches the rest of the path. */
type Part = { readonly text: string; readonly kind: 'static' | 'variable' | 'rest' }
/** Path of one or more routes. `statics`: number of static segments. `interactions`: by method. */
type Row = {
  readonly parts: readonly Part[]
  readonly statics: number
  readonly interactions: ReadonlyMap<string, RouteMatch['interaction']>
}

const ROWS: readonly Row[] = rowsOf([...ROUTES, ...ENDPOINT_ROUTES])

/** Rows whose last part matches the rest of the path. Each begins with a reserved segment, so no row of TABLE matches the same path. */
const REST: readonly Row[] = ROWS.filter(({ parts }) => parts.at(-1)?.kind === 'rest')

/**
 * All other rows by number of segments. Those with more static segments come first, and equal ones in the order of the catalogue: the first
 * match is the route.
 */
const TABLE: ReadonlyMap<number, readonly Row[]> = Map.groupBy(
  ROWS.filter((row) => !REST.includes(row)).toSorted((a, b) => b.statics - a.statics),
  ({ parts }) => parts.length,
)

function rowsOf(routes: readonly (Route | EndpointRoute)[]): readonly Row[] {
  return [...Map.groupBy(routes, ({ path }) => path)].map(([path, here]) => {
    const parts = path
      .split('/')
      .filter((part) => part !== '')
      .map(partOf)
    const statics = parts.filter(({ kind }) => kind === 'static').length
    const heads = here.filter(isHeadAllowed).map((route) => ({ ...route, method: 'HEAD' }))
    const interactions = new Map([...here, ...heads].map(({ method, interaction }) => [method, interaction]))
    return { parts, statics, interactions }
  })
}

function partOf(part: string): Part {
  const [, text, rest] = /^\{(\w+)(\+?)\}$/.exec(part) ?? []
  if (text === undefined) return { text: part, kind: 'static' }
  return { text, kind: rest === '' ? 'variable' : 'rest' }
}

/**
 * Whether the row matches. A variable never matches a segment that starts with `_` or `$`. The first segment as a variable never matches a
 * reserved one.
 */
const fits = ({ parts }: Row, segments: readonly string[]): boolean =>
  parts.every(({ text, kind }, i) => {
    if (kind === 'variable') return !'_$'.includes(segments[i]![0]!) && !(i === 0 && RESERVED.has(segments[0]!))
    return kind === 'rest' || text === segments[i]
  })

/** First segments that are never a type: the paths of the authorization server, of the explorer and of the health. */
const RESERVED: ReadonlySet<string> = new Set(['auth', '.well-known', 'explorer', 'health'])

function variablesOf({ parts }: Row, segments: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {}
  parts.forEach(({ text, kind }, i) => {
    if (kind === 'variable') named[text] = segments[i]!
  })
  return named
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    throw fhirError(400, 'value', 'The path is not percent-encoded as UTF-8')
  }
}

/** Returns the path with decoded segments and without empty ones, as routes are written. Keeps a segment that cannot be decoded. */
export const normalizePath = (path: string): string =>
  /%|\/\/|.\/$/.test(path)
    ? `/${path
        .split('/')
        .filter((segment) => segment !== '')
        .map(decodeOrKeep)
        .join('/')}`
    : path

function decodeOrKeep(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Whether the path belongs to the authorization server, even if no route matches it. */
export const isAuthPath = (path: string): boolean => /^\/(?:auth|\.well-known)(?:\/|$)/.test(normalizePath(path))

/** Paths of each operation, by its name with `$`. */
const OPERATIONS = Map.groupBy(
  ROUTES.map(({ path }) => path).filter((path) => path.includes('$')),
  (path) => path.slice(path.lastIndexOf('/') + 1),
)

/**
 * Returns advice for an unknown path that ends with an operation: its valid paths, or operations with similar names. Otherwise returns
 * empty text.
 */
function operationAdvice(segments: readonly string[]): string {
  const name = segments.at(-1) ?? ''
  if (!name.startsWith('$')) return ''
  const paths = OPERATIONS.get(name)
  return paths === undefined ? suggestNames(name, OPERATIONS.keys()) : `. ${name} is called at ${[...new Set(paths)].join(' or ')}`
}

const allowOf = ({ interactions }: Row): string => [...interactions.keys(), 'OPTIONS'].join(', ')

function notAllowed(method: string, row: Row): FhirError {
  const allow = allowOf(row)
  const advice = row.parts.at(-1)?.text === '_search' ? ': a search by GET has no _search in its path' : ''
  const text = `${method.slice(0, 16)} is not possible here, only ${allow}${advice}`
  return new FhirError(405, [{ severity: 'error', code: 'not-supported', text }], { allow })
}
