/** Parses the text of a search (`identifier=s|1&active=true`) into pairs. https://url.spec.whatwg.org/#urlencoded-parsing */
import { fhirError } from '../../fhir/outcome.ts'

export type ParameterPairs = readonly (readonly [name: string, value: string])[]

/** Maximum parameters of a search, including unknown ones. A search with more is answered 400. */
export const MAX_SEARCH_PARAMETERS = 10_000

/** Returns the decoded pairs. Counts them before decoding, and throws FhirError 400 if there are too many. */
export function parseParameterPairs(text: string): ParameterPairs {
  let count = 1
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1))
    if (++count > MAX_SEARCH_PARAMETERS) throw tooManyParametersError()
  return text === '' ? [] : [...new URLSearchParams(text)]
}

/** Throws FhirError 400 if one of these parameters occurs with different values, because only one of them could take effect. */
export function checkSingleValued(pairs: ParameterPairs, names: ReadonlySet<string>): void {
  const values = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (!names.has(name)) continue
    if ((values.get(name) ?? value) !== value)
      throw fhirError(400, 'duplicate', `The parameter ${name} is given several values, of which only one can count`)
    values.set(name, value)
  }
}

export const tooManyParametersError = (): Error =>
  fhirError(400, 'too-costly', `A search takes at most ${MAX_SEARCH_PARAMETERS} parameters`)
