/** Finds the route of a request. A static segment wins over a variable one. */
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { type InteractionCode, ROUTES, type Route } from '../interactions/routes.ts'

export type Matched = {
  readonly interaction: InteractionCode
  readonly type?: string
  readonly compartment?: string
  readonly id?: string
  readonly versionId?: string
}

/** `path`: below the base, percent-encoded. FhirError 404 for an unknown path, 405 for a known one without the method, 400 for a malformed one. */
export function matchRoute(method: string, path: string): Matched {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode)
  const here = (TABLE[segments.length] ?? []).filter(({ parts }) => fits(parts, segments))
  if (here.length === 0) throw fhirError(404, 'not-found', 'No interaction of this server has this path')
  const best = here.reduce((a, b) => (statics(b.parts) > statics(a.parts) ? b : a))
  const same = here.filter(({ parts }) => statics(parts) === statics(best.parts))
  const found = same.find(({ route }) => route.method === method)
  if (found === undefined)
    throw notAllowed(
      method,
      same.map(({ route }) => route.method),
    )
  const variables = found.parts.flatMap((part, i) => (isVariable(part) ? [[part.slice(1, -1), segments[i]!]] : []))
  const { owner, ownerId, ...named } = Object.fromEntries(variables) as Record<string, string>
  return { interaction: found.route.interaction, ...named, ...(owner === undefined ? {} : { compartment: `${owner}/${ownerId}` }) }
}

type Row = { readonly route: Route; readonly parts: readonly string[] }

/** By the number of segments. */
const TABLE: readonly (readonly Row[])[] = ROUTES.reduce<Row[][]>((table, route) => {
  const parts = route.path.split('/').filter((part) => part !== '')
  table[parts.length] = [...(table[parts.length] ?? []), { route, parts }]
  return table
}, [])

const isVariable = (part: string): boolean => part.startsWith('{')
const statics = (parts: readonly string[]): number => parts.filter((part) => !isVariable(part)).length

/** `_history`, `$operation` and `metadata` are never types or ids. */
const fits = (parts: readonly string[], segments: readonly string[]): boolean =>
  parts.every((part, i) => (isVariable(part) ? !/^[_$]/.test(segments[i]!) : part === segments[i]))

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw fhirError(400, 'value', 'The path is not percent-encoded as UTF-8')
  }
}

function notAllowed(method: string, methods: readonly string[]): FhirError {
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
  return new FhirError(
    405,
    [{ severity: 'error', code: 'not-supported', text: `${method.slice(0, 16)} is not possible here, only ${allow}` }],
    { allow },
  )
}
