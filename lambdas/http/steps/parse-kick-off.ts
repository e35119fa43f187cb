/** What an export is asked for: in the URL and, by POST, in Parameters. Specification 4.5 */
import type { Step } from '../exchange.ts'
import { resourceOf } from './parse-resource.ts'

export const parseKickOff: Step = {
  before({ event: exchange }) {
    const { http, fhir, site } = exchange
    const url = `${site.baseUrl}${http.path}${http.query === '' ? '' : `?${http.query}`}`
    const posted = http.method === 'POST'
    exchange.fhir = { ...fhir, url, posted, ...(posted && http.body.length > 0 ? { resource: resourceOf(exchange) } : {}) }
  },
}
