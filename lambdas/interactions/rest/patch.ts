/** FHIR patch and conditional patch, by JSON Patch or FHIRPath Patch. https://hl7.org/fhir/R4/http.html#patch */
import { parseJsonBytes } from '../../fhir/json.ts'
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { evaluateWithinBudget } from '../../fhir/path/client-budget.ts'
import { isResource, type Resource } from '../../fhir/resource.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Interaction } from '../interaction.ts'
import { keyOf, typeOf } from '../resources/request-key.ts'
import { writeScopeNoteOf } from '../resources/shared-definitions.ts'
import { gone, notFound } from '../resources/version-response.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'
import { noReferenceMask, type ReferenceMask, referenceMask, runBlindPatch } from '../writing/blind-patch.ts'
import { criteriaOf, matchesOf, tooManyMatches } from '../writing/conditional-criteria.ts'
import { isVisibleTo } from '../writing/head-access.ts'
import { checkIfMatch } from '../writing/next-version.ts'
import { type PatchDocument, patchFunctionOf, readPatch } from '../writing/patch-document.ts'
import { prepareReplacement } from '../writing/version-replacement.ts'
import { type WriteInteraction, type WritePorts, writeLoop } from '../writing/write-loop.ts'

export const patchWrite: WriteInteraction = {
  async locate(ports, request) {
    if (request.id !== undefined) return { kind: 'target', key: keyOf(request) }
    const [match, second] = await matchesOf(ports, criteriaOf(request, typeOf(request), request.parameters))
    if (second !== undefined) throw tooManyMatches()
    if (match === undefined) throw fhirError(404, 'not-found', 'No resource matches the criteria')
    const { versionId, ...key } = match
    return { kind: 'target', key, matched: versionId }
  },
  async change(ports, request, target, head) {
    if (head === undefined) throw notFound(target.key, writeScopeNoteOf(request, target.key))
    if (head.deleted) throw gone(target.key, 404)
    checkIfMatch(request, target.key, head)
    if ('damage' in head) throw head.damage
    const patch = readPatch(request.patch)
    const isShown = await isVisibleTo(request, head, ports)
    const hiding = isShown ? noReferenceMask : referenceMask(ports.clock.newId())
    const apply = async () => {
      const after = sameAs(target.key, await patched(head, patch, hiding))
      return valid(hiding.show(await ports.resolve(after)))
    }
    return prepareReplacement(ports, request, target, head, await (isShown ? apply() : runBlindPatch(request, target.key, patch, apply)))
  },
}

export const patch = (ports: WritePorts): Interaction => writeLoop(ports, patchWrite)

/**
 * Maximum milliseconds of processor time of a patch: a base, and an addition for each MB of the resource. A patch that takes longer is
 * answered 422.
 */
const LONGEST = { patch: 100, megabyte: 40 } as const

async function patched({ body }: ResourceVersion, patch: PatchDocument, { hide }: ReferenceMask): Promise<unknown> {
  const change = await patchFunctionOf(patch)
  const milliseconds = LONGEST.patch + Math.ceil((LONGEST.megabyte * body.length) / 1_000_000)
  return evaluateWithinBudget('The patch', milliseconds, (work) => change(hide(parseJsonBytes(body) as Resource), work))
}

function sameAs({ type, id }: ResourceKey, after: unknown): Resource {
  if (!isResource(after) || after.resourceType !== type || after.id !== id)
    throw fhirError(422, 'invariant', 'A patch may not change the id or the type of the resource')
  return after
}

async function valid(after: Resource): Promise<Resource> {
  const issues = await structureIssuesOf(after)
  if (issues.length > 0) throw new FhirError(422, issues)
  return after
}
