/** Whether files can be loaded there at all: told once, and not of every file. https://hl7.org/fhir/R4/http.html#capabilities */
import { getFrom } from '../client/http-post.ts'
import type { Answer } from '../client/server-response.ts'
import { json } from '../client/server-response.ts'

/** Error where it is no FHIR base, or cannot be reached. One that does not show itself to everybody is believed. */
export async function checkBase(base: string): Promise<void> {
  const answer = await getFrom(`${base}/metadata`)
  if (answer.status === 401 || answer.status === 403 || isCapabilityStatement(answer)) return
  throw new Error(`${base} is no FHIR base: ${base}/metadata answers ${answer.status}${leadOf(answer)}, and no CapabilityStatement`)
}

const isCapabilityStatement = (answer: Answer): boolean =>
  answer.status === 200 && (json(answer) as { readonly resourceType?: string } | null | undefined)?.resourceType === 'CapabilityStatement'

const leadOf = ({ headers }: Answer): string => (headers.location === undefined ? '' : `, leads to ${headers.location}`)
