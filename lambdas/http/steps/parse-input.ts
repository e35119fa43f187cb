/** What an operation is sent: a resource, or its Parameters; a GET, and a POST of nothing, bring none. https://hl7.org/fhir/R4/operations.html */
import type { Step } from '../exchange.ts'
import { resourceOf } from './parse-resource.ts'

export const parseInput: Step = {
  before({ event: exchange }) {
    const { http, fhir } = exchange
    if (http.method === 'POST' && http.body.length > 0) exchange.fhir = { ...fhir, resource: resourceOf(exchange) }
  },
}
