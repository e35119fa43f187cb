/** Redirects a browser that opens a FHIR address to the page of the explorer for it. Clients of the API are never redirected. */
import type { PipelineCode } from '../../catalogue/catalogue.ts'
import { FhirError } from '../../fhir/outcome.ts'
import type { Exchange, Step } from '../exchange.ts'
import { isJsonType, mediaTypeOf } from '../media-types.ts'

/** Codes whose responses the explorer shows as pages. The columns of the step contain others, such as operations. */
const SHOWN: ReadonlySet<PipelineCode> = new Set<PipelineCode>([
  'read',
  'vread',
  'history-instance',
  'history-type',
  'history-system',
  'search-type',
  'search-system',
])

/** `hasExplorer`: whether the deployment has an explorer. Without one, the step does nothing. */
export const redirectBrowsers = (hasExplorer: boolean): Step => ({
  before({ event }) {
    if (!hasExplorer || !isNavigation(event)) return
    const { http, site } = event
    const location = `${site.baseUrl}/explorer${http.path}${http.query === '' ? '' : `?${http.query}`}`
    const text = 'The explorer shows this to people. For JSON, send Accept: application/fhir+json'
    throw new FhirError(303, [{ severity: 'information', code: 'informational', text }], { location, vary: 'Accept' })
  },
})

/**
 * Segment that a browser resolves, so that the address would not lie below the explorer. No browser sends one.
 * https://url.spec.whatwg.org/#double-dot-path-segment
 */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=\/|$)/i

/**
 * Whether a person has opened the address in a browser. Navigations of browsers accept both `text/html` and `application/xhtml+xml`.
 * `text/html` alone is not enough: Java's HttpURLConnection sends it by default. https://html.spec.whatwg.org/#navigate-fetch
 */
function isNavigation({ http, interaction, fhir: { type, parameters } }: Exchange): boolean {
  const { method, isHead, path, headers } = http
  if (method !== 'GET' || isHead === true || !SHOWN.has(interaction) || type === 'Binary') return false
  if (DOT_SEGMENT.test(path)) return false
  if (headers.authorization !== undefined || parameters.some(([name]) => name === '_format')) return false
  return acceptsPages(headers.accept)
}

/** Whether the header Accept is that of a navigation. */
export function acceptsPages(accept = ''): boolean {
  const types = accept.split(',').map((range) => mediaTypeOf(range).type)
  return types.includes('text/html') && types.includes('application/xhtml+xml') && !types.some(isJsonType)
}

/** Returns the error that leads a browser from the root of the origin to the base. `basePath`: path of the base URL, such as `/fhir`. */
export const redirectToBase = (basePath: string): FhirError =>
  new FhirError(303, [{ severity: 'information', code: 'informational', text: `The base of this server is ${basePath}` }], {
    location: `${basePath}/`,
    vary: 'Accept',
  })
