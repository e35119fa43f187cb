/** FHIR vread. https://hl7.org/fhir/R4/http.html#vread */
import { fhirError } from '../../fhir/outcome.ts'
import { parseVersionNumber } from '../../fhir/version.ts'
import type { Interaction, Ports } from '../interaction.ts'
import { keyOf } from '../resources/request-key.ts'
import { versionedKeyOf, withoutAmbiguousPreconditions } from '../resources/shared-definitions.ts'
import { gone, notFound, versionResponse } from '../resources/version-response.ts'

export const vread =
  ({ resources, choices }: Pick<Ports, 'resources' | 'choices'>): Interaction =>
  async (request) => {
    const named = keyOf(request)
    if (!choices.versioning) throw fhirError(404, 'not-supported', 'Versions are not served: the setting `versioning` is off')
    const versionId = parseVersionNumber(request.versionId ?? '')
    const seen = resources(request, 'r')
    const key = await versionedKeyOf(request, seen, named)
    const [version] = versionId === undefined ? [] : await seen.versions([{ ...key, versionId }])
    // guard: version-of-shown-resource
    const isHidden = request.access.partner?.limits !== undefined && (await seen.current([key]))[0]?.deleted !== false
    if (version === undefined || isHidden) throw notFound({ type: key.type, id: `${key.id}/_history/${request.versionId}` })
    if (version.deleted) throw gone(key, 410)
    return versionResponse(version, await withoutAmbiguousPreconditions(request, seen, key), seen)
  }
