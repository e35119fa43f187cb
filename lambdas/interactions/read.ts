/** FHIR read. https://hl7.org/fhir/R4/http.html#read */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import { found, liveHead } from './found.ts'
import type { Interaction, Ports } from './interaction.ts'
import { keyOf } from './key.ts'
import { withState } from './reindex.ts'

export const read =
  ({ resources, progress }: Pick<Ports, 'resources' | 'progress'>): Interaction =>
  async (request) => {
    const key = keyOf(request)
    const head = await liveHead(resources(request, 'r'), key)
    const response = found(head, request)
    if (key.type !== 'SearchParameter' || response.status !== 200) return response
    const { definitions } = await progress.status(key.tenant)
    return { ...response, body: withState(parseJsonBytes(head.body) as Resource, definitions, request.baseUrl) }
  }
