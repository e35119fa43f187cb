/** FHIR patch and conditional patch, by JSON Patch or FHIRPath Patch. https://hl7.org/fhir/R4/http.html#patch */
import { fhirPathPatch } from '../fhir/fhirpath-patch.ts'
import { parseJsonBytes } from '../fhir/json.ts'
import { jsonPatch } from '../fhir/json-patch.ts'
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { affordable } from '../fhir/path/affordable.ts'
import type { Work } from '../fhir/path/work.ts'
import { isElement, isResource, type Resource } from '../fhir/resource.ts'
import type { ResourceKey, ResourceVersion } from '../ports/resource-store.ts'
import { blindly } from './blind-patch.ts'
import { criteriaOf, matchesOf, tooManyMatches } from './conditional.ts'
import { findingsOf } from './findings-of.ts'
import { gone, notFound } from './found.ts'
import type { Interaction } from './interaction.ts'
import { keyOf, typeOf } from './key.ts'
import { checkIfMatch } from './next-version.ts'
import { saveOver } from './save-over.ts'
import { type WriteInteraction, type WritePorts, writing } from './writing.ts'
import { isShownTo } from './written-head.ts'

export const patching: WriteInteraction = {
  async locate(ports, request) {
    if (request.id !== undefined) return { kind: 'target', key: keyOf(request) }
    const [match, second] = await matchesOf(ports, criteriaOf(request, typeOf(request), request.parameters))
    if (second !== undefined) throw tooManyMatches()
    if (match === undefined) throw fhirError(404, 'not-found', 'No resource matches the criteria')
    const { versionId, ...key } = match
    return { kind: 'target', key, matched: versionId }
  },
  async change(ports, request, target, head) {
    if (head === undefined) throw notFound(target.key)
    if (head.deleted) throw gone(target.key, 404)
    checkIfMatch(request, head)
    if ('damage' in head) throw head.damage
    const apply = async () => checked(target.key, await patched(head, request.patch))
    const after = (await isShownTo(request, head, ports)) ? await apply() : await blindly(request, target.key, apply)
    return saveOver(ports, request, target, head, await ports.resolve(after))
  },
}

export const patch = (ports: WritePorts): Interaction => writing(ports, patching)

/** ms of processor time, and for each MB of the resource. */
const LONGEST = { patch: 100, megabyte: 40 } as const

async function patched({ body }: ResourceVersion, document: unknown): Promise<unknown> {
  const patch = await patchOf(document)
  const milliseconds = LONGEST.patch + Math.ceil((LONGEST.megabyte * body.length) / 1_000_000)
  return affordable('The patch', milliseconds, (work) => patch(parseJsonBytes(body) as Resource, work))
}

/** Changes the resource it is given. */
type Patch = (resource: Resource, work: Work) => unknown

async function patchOf(document: unknown): Promise<Patch> {
  if (Array.isArray(document)) return (resource, work) => jsonPatch(resource, document, work)
  if (isElement(document) && document.resourceType === 'Parameters') return fhirPathPatch(document)
  throw fhirError(400, 'structure', 'A patch is a JSON Patch (an array of operations) or a FHIRPath Patch (a Parameters resource)')
}

/** The result must be a valid resource of the same type and id. */
async function checked({ type, id }: ResourceKey, after: unknown): Promise<Resource> {
  if (!isResource(after) || after.resourceType !== type || after.id !== id)
    throw fhirError(422, 'invariant', 'A patch may not change the id or the type of the resource')
  const issues = await findingsOf(after)
  if (issues.length > 0) throw new FhirError(422, issues)
  return after
}
