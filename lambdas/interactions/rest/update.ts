/** FHIR update, update-as-create and conditional update. https://hl7.org/fhir/R4/http.html#update */
import { fhirError } from '../../fhir/outcome.ts'
import { isId } from '../../fhir/resource.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { keyOf, malformedId, typeOf } from '../resources/request-key.ts'
import { criteriaOf, type GuardHolders, searchFor, tooManyMatches, uniquenessOf } from '../writing/conditional-criteria.ts'
import { checkIfMatch, checkIfNoneMatch } from '../writing/next-version.ts'
import { bodyOf } from '../writing/request-body.ts'
import { prepareReplacement } from '../writing/version-replacement.ts'
import {
  type AttemptPorts,
  andThen,
  type ResponseWithoutWrite,
  type WriteInteraction,
  type WritePorts,
  type WriteTarget,
  writeLoop,
} from '../writing/write-loop.ts'

export const updateWrite: WriteInteraction = {
  locate(ports, request, holders) {
    if (request.id === undefined) return locateByCriteria(ports, request, holders)
    const key = keyOf(request)
    const resource = bodyOf(request)
    if (resource.id === undefined) throw fhirError(400, 'required', 'An update carries the id of the URL in its body', `${key.type}.id`)
    if (resource.id !== key.id) throw fhirError(400, 'invalid', 'The id of the body is not the id of the URL', `${key.type}.id`)
    return { kind: 'target', key }
  },
  change(ports, request, target, head) {
    checkIfMatch(request, target.key, head)
    const live = head !== undefined && !head.deleted
    if (live && isConditional(request) && target.matched === undefined)
      throw fhirError(422, 'duplicate', `Nothing matches the criteria, but ${target.key.type}/${target.key.id} exists already`)
    checkIfNoneMatch(request, head)
    return andThen(ports.resolve(bodyOf(request)), (resource) => prepareReplacement(ports, request, target, head, resource))
  },
}

export const update = (ports: WritePorts): Interaction => writeLoop(ports, updateWrite)

const isConditional = (request: FhirRequest): boolean => request.id === undefined

async function locateByCriteria(
  ports: AttemptPorts,
  request: FhirRequest,
  holders: GuardHolders | undefined,
): Promise<WriteTarget | ResponseWithoutWrite> {
  const { tenant } = request
  const type = typeOf(request)
  const { id } = bodyOf(request)
  if (id !== undefined && !isId(id)) throw malformedId(`${type}.id`)
  const criteria = criteriaOf(request, type, request.parameters)
  const found = await searchFor(ports, criteria, holders)
  const [match, second] = found.matches
  if (second !== undefined) throw tooManyMatches()
  if (match === undefined) {
    const key = { tenant, type, id: id ?? ports.clock.newId() }
    return { kind: 'target', key, uniqueness: uniquenessOf(criteria, found, key, holders) }
  }
  if (id !== undefined && id !== match.id && ports.choices.conditionalUpdateIdMismatch === 'reject')
    throw fhirError(400, 'invalid', 'The id of the body is not the id of the resource that matches', `${type}.id`)
  return { kind: 'target', key: { tenant, type, id: match.id }, matched: match.versionId }
}
