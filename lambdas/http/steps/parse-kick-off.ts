/** Parses the request that starts an export: stores its URL and, for POST, parses the Parameters in its body. Specification 4.5 */
import { yieldIfDue } from '../../interactions/time-slices.ts'
import type { Step } from '../exchange.ts'
import { resourceOf } from './parse-resource.ts'

export const parseKickOff: Step = {
  async before({ event: exchange }) {
    const { http, fhir, site } = exchange
    const url = `${site.baseUrl}${http.path}${http.query === '' ? '' : `?${http.query}`}`
    const posted = http.method === 'POST'
    // Yield before parsing: bodies may be long, and many may arrive at the same time.
    await yieldIfDue()
    exchange.fhir = { ...fhir, url, posted, ...(posted && http.body.length > 0 ? { resource: resourceOf(exchange) } : {}) }
  },
}
