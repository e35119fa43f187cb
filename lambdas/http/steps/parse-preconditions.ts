/** Parses If-Match, If-None-Match, If-Modified-Since and If-None-Exist. https://hl7.org/fhir/R4/http.html#concurrency */
import { fhirError } from '../../fhir/outcome.ts'
import { versionsOfIfMatch, versionsOfIfNoneMatch } from '../../fhir/version.ts'
import type { Preconditions } from '../../interactions/interaction.ts'
import type { Step } from '../exchange.ts'

export const parsePreconditions: Step = {
  before({ event: exchange }) {
    // guard: moved-resource-is-shown
    if (exchange.ignoresPreconditions) return
    const { headers } = exchange.http
    const match = headers['if-match']
    const noneMatch = headers['if-none-match']
    const modifiedSince = headers['if-modified-since']
    const noneExist = headers['if-none-exist']
    if (match === undefined && noneMatch === undefined && modifiedSince === undefined && noneExist === undefined) return
    exchange.fhir = {
      ...exchange.fhir,
      preconditions: {
        ...(match === undefined ? {} : { ifMatch: versionsOf(match) }),
        ...(noneMatch === undefined ? {} : { ifNoneMatch: noneMatch.trim() === '*' ? '*' : versionsOfIfNoneMatch(noneMatch) }),
        ...(modifiedSince === undefined ? {} : sinceOf(modifiedSince)),
        ...(noneExist === undefined ? {} : { ifNoneExist: noneExist }),
      },
    }
  },
}

function versionsOf(match: string): readonly number[] | '*' {
  const versions = match.trim() === '*' ? '*' : versionsOfIfMatch(match)
  if (versions === undefined) throw fhirError(400, 'value', 'The value of If-Match is no list of ETags, such as W/"1"')
  return versions
}

/** Returns no precondition for a date that cannot be parsed. https://www.rfc-editor.org/rfc/rfc9110#section-13.1.3 */
function sinceOf(value: string): Pick<Preconditions, 'ifModifiedSince'> {
  const at = Date.parse(value)
  return Number.isNaN(at) ? {} : { ifModifiedSince: at }
}
