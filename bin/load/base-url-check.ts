/** Whether files can be loaded there at all: told once, and not of every file. https://hl7.org/fhir/R4/http.html#capabilities */
import { getWithRetries } from '../client/http-post.ts'
import type { BufferedResponse } from '../client/server-response.ts'
import { parseJsonBody } from '../client/server-response.ts'

/** Error where it is no FHIR base, or cannot be reached. One that does not show itself to everybody is believed. */
export async function checkFhirBase(base: string): Promise<void> {
  const answer = await getWithRetries(`${base}/metadata`)
  if (answer.status === 401 || answer.status === 403 || isCapabilityStatement(answer)) return
  throw new Error(`${base} is no FHIR base: ${base}/metadata answers ${answer.status}${leadOf(answer)}, and no CapabilityStatement`)
}

const isCapabilityStatement = (answer: BufferedResponse): boolean =>
  answer.status === 200 &&
  (parseJsonBody(answer) as { readonly resourceType?: string } | null | undefined)?.resourceType === 'CapabilityStatement'

const leadOf = ({ headers }: BufferedResponse): string => (headers.location === undefined ? '' : `, leads to ${headers.location}`)
