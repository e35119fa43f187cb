/** The Prefer header: what to return, how to take unknown parameters, how to page; X-Consistency: what a search waits for. https://www.rfc-editor.org/rfc/rfc7240 */
import { fhirError } from '../../fhir/outcome.ts'
import type { Preferences } from '../../interactions/interaction.ts'
import type { Step } from '../exchange.ts'

export const parsePreferences: Step = {
  before({ event: exchange }) {
    const { prefer, 'x-consistency': consistency } = exchange.http.headers
    if (prefer !== undefined) exchange.fhir = { ...exchange.fhir, preferences: preferencesOf(prefer) }
    if (consistency === undefined || consistency === 'strong') return
    if (consistency !== 'eventual') throw fhirError(400, 'value', 'X-Consistency is strong or eventual')
    exchange.fhir = { ...exchange.fhir, preferences: { ...exchange.fhir.preferences, consistency } }
  },
}

type Preferred = Omit<Preferences, 'consistency'>

const KNOWN: { readonly [Name in keyof Preferred]-?: readonly NonNullable<Preferred[Name]>[] } = {
  return: ['minimal', 'representation', 'OperationOutcome'],
  handling: ['strict', 'lenient'],
  pagination: ['offset-skip', 'offset-page'],
  explain: ['true'],
  'respond-async': ['true'],
}

/** Those behind them are passed over. */
const MOST = 100

/** Names in any case. Of a preference given twice the first counts; one that is not known is passed over, as RFC 7240 asks. */
function preferencesOf(header: string): Preferences {
  const found: Record<string, string> = {}
  for (const part of header.split(/[,;]/, MOST)) {
    const [given = '', value = 'true'] = part.split('=', 2).map((text) => text.trim().replace(/^"(.*)"$/, '$1'))
    const name = given.toLowerCase()
    const values: readonly string[] | undefined = Object.hasOwn(KNOWN, name) ? KNOWN[name as keyof Preferred] : undefined
    if (values?.includes(value)) found[name] ??= value
  }
  return found
}
