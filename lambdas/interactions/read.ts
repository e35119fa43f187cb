/** FHIR read. https://hl7.org/fhir/R4/http.html#read */
import { found, gone, notFound } from './found.ts'
import type { Interaction, Ports } from './interaction.ts'
import { keyOf } from './key.ts'

export const read =
  ({ resources }: Pick<Ports, 'resources'>): Interaction =>
  async (request) => {
    const key = keyOf(request)
    const [head] = await resources.current([key])
    if (head === undefined) throw notFound(key)
    if (head.deleted) throw gone(key, 404)
    return found(head, request)
  }
