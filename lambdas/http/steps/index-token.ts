/** Read your writes: a write answers with a token, and a search that carries it sees that write. https://hl7.org/fhir/R4/search.html leaves this open. */
import { fhirError } from '../../fhir/outcome.ts'
import type { Clock } from '../../ports/clock.ts'
import { Overloaded } from '../../ports/overloaded.ts'
import type { Seal } from '../../ports/seal.ts'
import type { SearchIndex } from '../../ports/search-index.ts'
import type { Step } from '../exchange.ts'

export type TokenParts = {
  readonly seal: Seal
  readonly clock: Clock
  readonly index: Pick<SearchIndex, 'caughtUp'>
  /** Names everything acknowledged so far. */
  readonly position: () => string
}

/** Milliseconds. */
const PATIENCE = 5_000
const HEADER = 'x-index-token'

/** On writes. The token is bound to the tenant, and at most 200 characters long. */
export const tellIndexToken = ({ seal, clock, position }: TokenParts): Step => ({
  after(request) {
    const { event, response } = request
    if (response === undefined || response === null || response.status >= 300) return
    const token = seal.seal(JSON.stringify([event.fhir.tenant, position()]), clock.now())
    request.response = { ...response, headers: { ...response.headers, [HEADER]: token } }
  },
})

/** On searches. FhirError 400 for a token of another server or tenant; Overloaded when the index has not caught up in five seconds. */
export const awaitIndexToken = ({ seal, index }: TokenParts): Step => ({
  async before({ event: { http, fhir } }) {
    const token = http.headers[HEADER]
    if (token === undefined) return
    const opened = seal.open(token)
    const [tenant, position] = opened === undefined ? [] : (JSON.parse(opened.text) as readonly string[])
    if (position === undefined || tenant !== fhir.tenant) throw fhirError(400, 'value', 'The X-Index-Token is not one this server gave out')
    if (!(await index.caughtUp([position], PATIENCE))) throw new Overloaded('the search index is behind')
  },
})
