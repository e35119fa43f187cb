/** Finds the route of a request. A static segment wins over a variable one. */
import {
  AUTH_ROUTES,
  type AuthCode,
  type AuthRoute,
  type InteractionCode,
  isAuthCode,
  isAuthPath,
  isHeadAllowed,
  ROUTES,
  type Route,
} from '../catalogue/routes.ts'
import { suggestNames } from '../fhir/near-names.ts'
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { type BaseUrls, baseUrlOf } from '../fhir/references.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { RequestContent } from '../interactions/interaction.ts'

/** `named`: by the path. */
export type RouteMatch = {
  readonly interaction: InteractionCode | AuthCode
  readonly named: Pick<RequestContent, 'type' | 'compartment' | 'id' | 'versionId' | 'file'>
}

/** More than any path has, empty ones too. */
const MOST_PARTS = 100

/** `path`: below the base, percent-encoded. FhirError 404 for an unknown path, 405 for a known one without the method, 400 for a malformed one. */
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

/** Its methods, as the header Allow names them: where there is nothing to ask only OPTIONS. FhirError 400 for a malformed path. */
export function allowHeaderOf(path: string): string {
  const [row, segments] = rowOf(path)
  if (row === undefined) return 'OPTIONS'
  const { type = KNOWN, owner = KNOWN } = variablesOf(row, segments)
  return isResourceType(type) && isResourceType(owner) ? allowOf(row) : 'OPTIONS'
}

const KNOWN = 'Patient'

/** And the segments of the path. */
function rowOf(path: string): readonly [row: Row | undefined, segments: readonly string[]] {
  const parts = path.split('/', MOST_PARTS)
  const segments = parts.filter((segment) => segment !== '').map(decode)
  // guard: url-parts-limit
  return [parts.length === MOST_PARTS ? undefined : TABLE[segments.length]?.find((row) => fits(row, segments)), segments]
}

export type EntryMatch = Omit<RouteMatch, 'interaction'> & {
  readonly interaction: InteractionCode
  readonly path: string
  readonly query: string
}

/** Of an entry of a Bundle: `url` below a base of this server, or with it. Throws as `matchRoute`. */
export function matchEntry({ method, url }: { readonly method: string; readonly url: string }, bases: BaseUrls): EntryMatch {
  const below = url.slice(baseUrlOf(url, bases)?.length ?? 0)
  const at = below.indexOf('?')
  const [path, query] = at === -1 ? [below, ''] : [below.slice(0, at), below.slice(at + 1)]
  const { interaction, named } = matchRoute(method, path)
  if (isAuthCode(interaction)) throw fhirError(400, 'not-supported', `${method} of this url cannot be an entry of a Bundle`)
  return { interaction, named, path, query }
}

/** A part is static, or the name of a variable. */
type Part = { readonly text: string; readonly isVariable: boolean }
/** A path, and what its methods are. */
type Row = {
  readonly parts: readonly Part[]
  readonly statics: number
  readonly interactions: ReadonlyMap<string, RouteMatch['interaction']>
}

/** By the number of segments; the rows with the most static ones first. No two rows with as many static ones fit the same path. */
const TABLE: readonly (readonly Row[])[] = tableOf([...ROUTES, ...AUTH_ROUTES])

function tableOf(routes: readonly (Route | AuthRoute)[]): readonly (readonly Row[])[] {
  const table: Row[][] = []
  for (const path of new Set(routes.map((route) => route.path))) {
    const parts = path
      .split('/')
      .filter((part) => part !== '')
      .map((part): Part => (part.startsWith('{') ? { text: part.slice(1, -1), isVariable: true } : { text: part, isVariable: false }))
    const statics = parts.filter(({ isVariable }) => !isVariable).length
    const here = routes.filter((route) => route.path === path)
    const heads = here.filter(isHeadAllowed).map((route) => ({ ...route, method: 'HEAD' }))
    const interactions = new Map([...here, ...heads].map(({ method, interaction }) => [method, interaction]))
    table[parts.length] = [...(table[parts.length] ?? []), { parts, statics, interactions }].sort((a, b) => b.statics - a.statics)
  }
  return table
}

/** `_history`, `$operation` and `metadata` are never types or ids, `auth` and `.well-known` never types. */
const fits = ({ parts }: Row, segments: readonly string[]): boolean =>
  parts.every(({ text, isVariable }, i) =>
    isVariable ? !'_$'.includes(segments[i]![0]!) && !(i === 0 && isAuthPath(`/${segments[i]}`)) : text === segments[i],
  )

function variablesOf({ parts }: Row, segments: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {}
  parts.forEach(({ text, isVariable }, i) => {
    if (isVariable) named[text] = segments[i]!
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

/** Paths of each operation. */
const OPERATIONS = Map.groupBy(
  ROUTES.map(({ path }) => path).filter((path) => path.includes('$')),
  (path) => path.slice(path.lastIndexOf('/') + 1),
)

/** Returns where the operation is called, or operations with similar names. */
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
