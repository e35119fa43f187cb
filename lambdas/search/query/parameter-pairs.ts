/** The text of a search (`identifier=s|1&active=true`) as pairs. https://url.spec.whatwg.org/#urlencoded-parsing */
import { fhirError } from '../../fhir/outcome.ts'

export type Pairs = readonly (readonly [name: string, value: string])[]

/** Known ones and others. */
export const MOST_PARAMETERS = 10_000

/** FhirError 400 for too many, before anything is decoded: the time it takes grows with their square. */
export function pairsOf(text: string): Pairs {
  let count = 1
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) if (++count > MOST_PARAMETERS) throw tooManyParameters()
  return text === '' ? [] : [...new URLSearchParams(text)]
}

/** FhirError 400 for one of these names that is given several values: only one can count. */
export function checkOnce(pairs: Pairs, names: ReadonlySet<string>): void {
  const given = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (!names.has(name)) continue
    if ((given.get(name) ?? value) !== value)
      throw fhirError(400, 'duplicate', `The parameter ${name} is given several values, of which only one can count`)
    given.set(name, value)
  }
}

export const tooManyParameters = (): Error => fhirError(400, 'too-costly', `A search takes at most ${MOST_PARAMETERS} parameters`)
