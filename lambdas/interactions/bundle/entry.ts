/** Entries of a batch or transaction: their requests and responses. https://hl7.org/fhir/R4/bundle.html#transaction */
import { STATUS_CODES } from 'node:http'
import type { InteractionCode } from '../../catalogue/catalogue.ts'
import type { BundleEntry } from '../../fhir/bundle.ts'
import { writeJson } from '../../fhir/json.ts'
import { FhirError, fhirError, type Issue, operationOutcomeOf } from '../../fhir/outcome.ts'
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'
import { toInstant } from '../../fhir/version.ts'
import { OUTDATED_HEADER } from '../consistency/outdated-index.ts'
import type { Awaitable, FhirRequest, FhirResponse, RequestNames } from '../interaction.ts'

export type EntryRequest = {
  readonly index: number
  readonly fullUrl?: string
  readonly method: string
  /** URL relative to the base, without a leading slash: `Patient/1`, `Patient?identifier=1`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly resource?: Resource
}

/** Called before an entry runs, with the names in its request. If it throws, the entry is rejected with that error. */
export type EntryStartHandler = (interaction: InteractionCode, named: RequestNames) => void

/** Runs entries of a Bundle. Both methods reject with FhirError only. Faults of the server are reported to the operator before. */
export type EntryRunner = {
  /** Runs the pipeline of the entry without its interaction. Returns the request that the interaction would receive. */
  readonly prepare: (entry: EntryRequest, outer: FhirRequest, begins: EntryStartHandler) => Promise<FhirRequest>
  readonly run: (entry: EntryRequest, outer: FhirRequest, begins: EntryStartHandler) => Promise<FhirResponse>
}

/** HTTP methods in processing order. A search by POST counts as a read. https://hl7.org/fhir/R4/http.html#trules */
const METHODS = ['DELETE', 'POST', 'PUT', 'PATCH', 'GET', 'HEAD'] as const

export const isRead = (entry: EntryRequest): boolean => entry.method === 'GET' || entry.method === 'HEAD' || isSearchByPost(entry)

export const isSearchByPost = ({ method, url }: EntryRequest): boolean => method === 'POST' && /(?:^|\/)_search(?:\?|$)/.test(url)

/** Returns the entries in processing order, as groups. The entries of one group have no order among themselves. */
export const phasesOf = (entries: readonly EntryRequest[]): readonly (readonly EntryRequest[])[] => [
  ...METHODS.map((method) => entries.filter((entry) => entry.method === method && !isRead(entry))),
  entries.filter(isRead),
]

export function entriesOf(bundle: Resource): readonly EntryRequest[] {
  const { entry = [] } = bundle as { readonly entry?: unknown }
  if (!Array.isArray(entry)) throw fhirError(400, 'structure', 'The entries of a Bundle are an array', 'Bundle.entry')
  return entry.map(entryOf)
}

const HEADERS = [
  ['ifMatch', 'if-match'],
  ['ifNoneMatch', 'if-none-match'],
  ['ifModifiedSince', 'if-modified-since'],
  ['ifNoneExist', 'if-none-exist'],
] as const

function entryOf(entry: unknown, index: number): EntryRequest {
  const at = `Bundle.entry[${index}]`
  if (!isElement(entry)) throw fhirError(400, 'structure', 'An entry is an object', at)
  const { request, resource, fullUrl } = entry
  if (!isElement(request)) throw fhirError(400, 'required', 'An entry of a batch or transaction has a request', `${at}.request`)
  const { method, url } = request
  if (!METHODS.some((known) => known === method))
    throw fhirError(400, 'value', 'The method of an entry is GET, HEAD, POST, PUT, DELETE or PATCH', `${at}.request.method`)
  if (typeof url !== 'string') throw fhirError(400, 'required', 'The request of an entry has a url', `${at}.request.url`)
  if (resource !== undefined && !isResource(resource))
    throw fhirError(400, 'structure', 'The resource of an entry has a resourceType', `${at}.resource`)
  return {
    index,
    method: method as string,
    url: url.startsWith('/') ? url.slice(1) : url,
    headers: headersOf(request),
    ...(typeof fullUrl === 'string' ? { fullUrl } : {}),
    ...(resource === undefined ? {} : { resource }),
  }
}

function headersOf(request: Element): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const [name, header] of HEADERS) {
    const value = request[name]
    if (typeof value === 'string') headers[header] = value
  }
  return headers
}

/** Returns the entry. If its POSTed resource has no id and its fullUrl is a UUID, that UUID becomes the id. */
export function withIdOfFullUrl(entry: EntryRequest): EntryRequest {
  const { resource, method, fullUrl = '' } = entry
  if (resource === undefined || resource.id !== undefined || method !== 'POST') return entry
  const [, id] = /^urn:uuid:([A-Za-z0-9-]{1,64})$/.exec(fullUrl) ?? []
  return id === undefined ? entry : { ...entry, resource: { ...resource, id } }
}

/**
 * Returns the Bundle entry for the response of `entry`. `body`: body of that response, with pages as bytes. Omits the resource of a write
 * unless the client prefers `return=representation`, because the client has just sent it.
 */
export function responseEntry(
  { status, headers = {}, lastUpdated, warnings }: FhirResponse,
  body: BundleEntry['resource'],
  entry: EntryRequest,
  { preferences }: FhirRequest,
): BundleEntry {
  const { location, etag } = headers
  const isOutcome = isResource(body) && body.resourceType === 'OperationOutcome'
  const response = {
    status: `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
    ...(location === undefined ? {} : { location }),
    ...(etag === undefined ? {} : { etag }),
    ...(lastUpdated === undefined ? {} : { lastModified: toInstant(lastUpdated) }),
    ...(warnings !== undefined ? { outcome: warnings.outcome } : isOutcome ? { outcome: body } : outdatedIn(headers)),
  }
  const shown =
    ((isRead(entry) && entry.method !== 'HEAD') || preferences.return === 'representation') && !isOutcome ? bytesOf(body) : undefined
  return { ...(shown === undefined ? {} : { resource: shown }), more: { response } }
}

/** Returns the header about an outdated index as a warning in `outcome`, because an entry has no headers. */
function outdatedIn({ [OUTDATED_HEADER]: codes }: Readonly<Record<string, string>>): { readonly outcome?: Resource } {
  if (codes === undefined) return {}
  const text = `After an upgrade the index is being made again: by ${codes} the search may not find all`
  return { outcome: operationOutcomeOf([{ severity: 'warning', code: 'incomplete', text }]) }
}

/** Serializes a resource. Bytes have a known size and are copied into the Bundle unchanged. Returns any other body as it is. */
const bytesOf = (body: BundleEntry['resource']): BundleEntry['resource'] => (isResource(body) ? Buffer.from(writeJson(body)) : body)

/** Returns the error of an entry with expressions relative to the Bundle: `Patient.name` becomes `Bundle.entry[0].resource.name`. */
export function entryErrorOf(error: FhirError, index: number): FhirError {
  const at = `Bundle.entry[${index}]`
  const place = ({ expression }: Issue): string => (expression === undefined ? at : `${at}.resource${expression.replace(/^[^.[]*/, '')}`)
  return new FhirError(
    error.status,
    error.issues.map((issue) => ({ ...issue, expression: place(issue) })),
    error.headers,
  )
}

/** Runs a step of an entry. Adds the entry to the expressions of a FhirError. Returns a rejected promise instead of throwing. */
export function runEntryStep<T>({ index }: EntryRequest, step: () => Awaitable<T>): Awaitable<T> {
  const rejected = (thrown: unknown): Promise<never> => Promise.reject(thrown instanceof FhirError ? entryErrorOf(thrown, index) : thrown)
  try {
    const done = step()
    return done instanceof Promise ? done.catch(rejected) : done
  } catch (thrown) {
    return rejected(thrown)
  }
}
