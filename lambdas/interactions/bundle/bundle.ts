/** FHIR batch and transaction: one request, many interactions. https://hl7.org/fhir/R4/http.html#transaction */
import { fhirError } from '../../fhir/outcome.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { bodyOf } from '../writing/request-body.ts'
import type { WritePorts } from '../writing/write-loop.ts'
import { batch } from './batch.ts'
import { type EntryRunner, entriesOf, withIdOfFullUrl } from './entry.ts'
import { EntryResponses } from './entry-responses.ts'
import { transaction } from './transaction.ts'

const STORED = 'one of another type is stored by POST [base]/Bundle'

/** Creates the interaction for batches and transactions. `perform`: runs an entry through the pipeline of its own interaction. */
export const bundle = (ports: WritePorts, perform: EntryRunner): Interaction => {
  const runs = { batch: batch(perform), transaction: transaction(ports, perform) }
  return async (received) => {
    const request: FhirRequest = { ...received, shared: {} }
    const { resourceType, type } = bodyOf(request)
    if (resourceType !== 'Bundle') throw fhirError(400, 'invalid', 'The body of a POST to the base is a Bundle', 'resourceType')
    if (type !== 'batch' && type !== 'transaction')
      throw fhirError(400, 'value', `The type of the Bundle is batch or transaction; ${STORED}`, 'Bundle.type')
    const sent = entriesOf(bodyOf(request))
    // Take ids from fullUrls only if clients must choose ids. Otherwise the server assigns them, so that posting the same Bundle again
    // creates new resources.
    const entries = ports.choices.clientIds === 'required' ? sent.map(withIdOfFullUrl) : sent
    if (entries.length > ports.choices.maxTransactionEntries)
      throw fhirError(413, 'too-costly', `A Bundle has at most ${ports.choices.maxTransactionEntries} entries`, 'Bundle.entry')
    const answers = new EntryResponses(request, ports.clock)
    await runs[type](entries, request, answers)
    return {
      status: 200,
      headers: answers.headers,
      body: { kind: 'bundle', type: `${type}-response`, link: [], entries: answers.entries },
      written: answers.written,
      about: answers.about,
      named: answers.named,
    }
  }
}
