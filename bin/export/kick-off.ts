/** Kick-off request of an export, for any Bulk Data server. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#query-parameters */
import { resolveSafeLink } from '../client/safe-link.ts'
import { ExportFault } from './export-fault.ts'
import { outcomeSuffixOf, type RequestOptions, sendWithRetries, withoutQuery } from './retrying-requests.ts'

/** Request of an export. Instants and names are texts in the form of FHIR. */
export type RequestedExport = {
  /** Base URL without a trailing slash. */
  readonly base: string
  /** Id of a Group, all patients, or everything. */
  readonly level: { readonly group: string } | 'patients' | 'system'
  readonly types: readonly string[]
  readonly since?: string
  readonly until?: string
  readonly elements: readonly string[]
  /** Searches of the form `Type?criteria`. */
  readonly filters: readonly string[]
  /** References of the form `Patient/1`. */
  readonly patients: readonly string[]
}

/**
 * Maximum attempts in a row without any response. A kick-off to an address that never responded is probably wrong, whereas a running job is
 * worth a long wait.
 */
const UNHEARD = 3

/** Starts an export and returns the URL of its job. Throws ExportFault if the server starts none. */
export async function kickOff(request: RequestedExport, options: RequestOptions): Promise<string> {
  const { url, body } = kickOffRequestOf(request)
  const answer = await sendWithRetries(
    url,
    {
      headers: {
        accept: 'application/fhir+json',
        prefer: 'respond-async',
        ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' }),
      },
      ...(body === undefined ? {} : { method: 'POST', body }),
    },
    { ...options, patience: { ...options.patience, unheard: UNHEARD } },
  )
  const link = resolveSafeLink(answer.headers.get('content-location'), url)
  if (answer.status === 202 && link !== undefined) return link
  if (answer.status === 202)
    throw new ExportFault('failed', `${withoutQuery(url)} begins an export and leads to no job: the header Content-Location`)
  throw new ExportFault('refused', `The export is refused: ${answer.status}${outcomeSuffixOf(answer.text)}`, { status: answer.status })
}

/** Returns the kick-off request. With patients it is a POST, because only a body can name patients. */
export function kickOffRequestOf(request: RequestedExport): { readonly url: string; readonly body?: string } {
  const { base, level, patients } = request
  const path = level === 'system' ? '' : level === 'patients' ? '/Patient' : `/Group/${encodeURIComponent(level.group)}`
  const parameters = parametersOf(request)
  const url = `${base}${path}/$export`
  if (patients.length === 0) {
    const query = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString()
    return { url: query === '' ? url : `${url}?${query}` }
  }
  const typed = parameters.map(([name, value]) => ({
    name,
    [name === '_since' || name === '_until' ? 'valueInstant' : 'valueString']: value,
  }))
  const patientParameters = patients.map((reference) => ({ name: 'patient', valueReference: { reference } }))
  return { url, body: JSON.stringify({ resourceType: 'Parameters', parameter: [...typed, ...patientParameters] }) }
}

function parametersOf({ types, since, until, elements, filters }: RequestedExport): readonly (readonly [name: string, value: string])[] {
  const all: (readonly [string, string | undefined])[] = [
    ['_type', types.length === 0 ? undefined : types.join(',')],
    ['_since', since],
    ['_until', until],
    ['_elements', elements.length === 0 ? undefined : elements.join(',')],
    ...filters.map((filter) => ['_typeFilter', filter] as const),
  ]
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}
