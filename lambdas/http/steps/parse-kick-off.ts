/** What an export is asked for: in the URL and, by POST, in Parameters. Specification 4.5 */
import { yieldIfDue } from '../../interactions/time-slices.ts'
import type { Step } from '../exchange.ts'
import { resourceOf } from './parse-resource.ts'

export const parseKickOff: Step = {
  async before({ event: exchange }) {
    const { http, fhir, site } = exchange
    const url = `${site.baseUrl}${http.path}${http.query === '' ? '' : `?${http.query}`}`
    const posted = http.method === 'POST'
    // It may be long, and many may come at once.
    await yieldIfDue()
    exchange.fhir = { ...fhir, url, posted, ...(posted && http.body.length > 0 ? { resource: resourceOf(exchange) } : {}) }
  },
}
