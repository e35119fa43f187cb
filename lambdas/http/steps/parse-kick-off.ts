/** Parses the parameters of an export: in the URL and, for POST, in Parameters. Specification 4.5 */
import { yieldIfDue } from '../../interactions/time-slices.ts'
import type { Step } from '../exchange.ts'
import { resourceOf } from './parse-resource.ts'

export const parseKickOff: Step = {
  async before({ event: exchange }) {
    const { http, fhir, site } = exchange
    const url = `${site.baseUrl}${http.path}${http.query === '' ? '' : `?${http.query}`}`
    const posted = http.method === 'POST'
    // The body may be long, and many may arrive at once.
    await yieldIfDue()
    exchange.fhir = { ...fhir, url, posted, ...(posted && http.body.length > 0 ? { resource: resourceOf(exchange) } : {}) }
  },
}
