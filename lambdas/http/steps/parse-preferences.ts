/**
 * Parses the Prefer header: content to return, handling of unknown parameters, paging. https://www.rfc-editor.org/rfc/rfc7240
 * Parses X-Consistency: whether a search waits for the index.
 */
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

/** Maximum preferences of a header that are read. Further ones are ignored. */
const MOST = 100

/** Returns the preferences, with names in any case. The first valid value counts. Unknown preferences are ignored, as RFC 7240 requires. */
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
