/**
 * Checks a base URL once before a load, so that a wrong URL does not fail for every file. https://hl7.org/fhir/R4/http.html#capabilities
 */
import { getWithRetries } from '../client/http-post.ts'
import type { BufferedResponse } from '../client/server-response.ts'
import { parseJsonBody } from '../client/server-response.ts'

/** Throws if the URL is not a FHIR base or cannot be reached. A server that refuses access to its metadata is accepted without a check. */
export async function checkFhirBase(base: string): Promise<void> {
  const answer = await getWithRetries(`${base}/metadata`)
  if (answer.status === 401 || answer.status === 403 || isCapabilityStatement(answer)) return
  throw new Error(`${base} is no FHIR base: ${base}/metadata answers ${answer.status}${leadOf(answer)}, and no CapabilityStatement`)
}

const isCapabilityStatement = (answer: BufferedResponse): boolean =>
  answer.status === 200 &&
  (parseJsonBody(answer) as { readonly resourceType?: string } | null | undefined)?.resourceType === 'CapabilityStatement'

const leadOf = ({ headers }: BufferedResponse): string => (headers.location === undefined ? '' : `, leads to ${headers.location}`)
