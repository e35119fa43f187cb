/** What an export is asked for, as any server of Bulk Data takes it. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#query-parameters */
import { resolveSafeLink } from '../client/safe-link.ts'
import { ExportFault } from './export-fault.ts'
import { outcomeSuffixOf, type RequestOptions, sendWithRetries, withoutQuery } from './retrying-requests.ts'

/** Instants and lists of names are texts as FHIR has them. */
export type RequestedExport = {
  /** Without a slash at the end. */
  readonly base: string
  /** The id of a Group; all patients; everything. */
  readonly of: { readonly group: string } | 'patients' | 'system'
  readonly types: readonly string[]
  readonly since?: string
  readonly until?: string
  readonly elements: readonly string[]
  /** Searches, each `Type?criteria`. */
  readonly filters: readonly string[]
  /** `Patient/1`. */
  readonly patients: readonly string[]
}

/** A job that runs is worth waiting for; an address where nobody has answered yet is more likely wrong. */
const UNHEARD = 3

/** The URL of a job. ExportFault where there is none. */
export async function kickOff(wanted: RequestedExport, asking: RequestOptions): Promise<string> {
  const { url, body } = kickOffRequestOf(wanted)
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
    { ...asking, patience: { ...asking.patience, unheard: UNHEARD } },
  )
  const link = resolveSafeLink(answer.headers.get('content-location'), url)
  if (answer.status === 202 && link !== undefined) return link
  if (answer.status === 202)
    throw new ExportFault('failed', `${withoutQuery(url)} begins an export and leads to no job: the header Content-Location`)
  throw new ExportFault('refused', `The export is refused: ${answer.status}${outcomeSuffixOf(answer.text)}`, { status: answer.status })
}

/** Patients may be named in a body alone. */
export function kickOffRequestOf(wanted: RequestedExport): { readonly url: string; readonly body?: string } {
  const { base, of, patients } = wanted
  const path = of === 'system' ? '' : of === 'patients' ? '/Patient' : `/Group/${encodeURIComponent(of.group)}`
  const parameters = parametersOf(wanted)
  const url = `${base}${path}/$export`
  if (patients.length === 0) {
    const query = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value])).toString()
    return { url: query === '' ? url : `${url}?${query}` }
  }
  const typed = parameters.map(([name, value]) => ({
    name,
    [name === '_since' || name === '_until' ? 'valueInstant' : 'valueString']: value,
  }))
  const named = patients.map((reference) => ({ name: 'patient', valueReference: { reference } }))
  return { url, body: JSON.stringify({ resourceType: 'Parameters', parameter: [...typed, ...named] }) }
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
