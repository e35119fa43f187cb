/** FHIR read. https://hl7.org/fhir/R4/http.html#read */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirRequest, Interaction, Ports } from '../interaction.ts'
import { withParameterState } from '../resources/parameter-state.ts'
import { keyOf } from '../resources/request-key.ts'
import { withoutAmbiguousPreconditions, withSharedDefinitions } from '../resources/shared-definitions.ts'
import { readCurrentVersion, secondOf, versionResponse } from '../resources/version-response.ts'
import type { VisibleStore } from '../visible-store.ts'

export const read =
  ({ resources, progress }: Pick<Ports, 'resources' | 'progress'>): Interaction =>
  async (request) => {
    const key = keyOf(request)
    const seen = resources(request, 'r')
    const head = await readCurrentVersion(withSharedDefinitions(request, seen), key)
    const response = await versionResponse(head, await withoutUnreliablePreconditions(request, seen, head), seen)
    if (key.type !== 'SearchParameter' || response.status !== 200) return response
    const { definitions } = await progress.status(key.tenant)
    return { ...response, body: withParameterState(parseJsonBytes(head.body) as Resource, definitions) }
  }

/**
 * Removes preconditions that could cause a wrong 304: preconditions about a definition that exists in both tenants, because the client may
 * have the other one, and If-Modified-Since if the current and the previous version were written in the same second.
 */
async function withoutUnreliablePreconditions(sent: FhirRequest, seen: VisibleStore, head: ResourceVersion): Promise<FhirRequest> {
  const request = await withoutAmbiguousPreconditions(sent, seen, head)
  const { ifModifiedSince, ifNoneMatch, ...unconditional } = request.preconditions
  const second = secondOf(head.lastUpdated)
  if (ifModifiedSince === undefined || ifNoneMatch !== undefined || second !== secondOf(ifModifiedSince)) return request
  const [before] = await seen.versions([{ ...head, versionId: head.versionId - 1 }])
  return before === undefined || secondOf(before.lastUpdated) < second ? request : { ...request, preconditions: unconditional }
}
