/** FHIR create and conditional create. https://hl7.org/fhir/R4/http.html#create */
import { withArticle } from '../../fhir/article.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { type BaseUrls, toRelative } from '../../fhir/references.ts'
import { isId, type Resource } from '../../fhir/resource.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import { parseParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { malformedId, typeOf } from '../resources/request-key.ts'
import { criteriaOf, searchFor, tooManyMatches, uniquenessOf } from '../writing/conditional-criteria.ts'
import { redactResponse } from '../writing/head-access.ts'
import { prepareVersion, unchangedResponse } from '../writing/next-version.ts'
import { bodyOf } from '../writing/request-body.ts'
import { type AttemptPorts, andThen, isMatchSuperseded, type WriteInteraction, type WritePorts, writeLoop } from '../writing/write-loop.ts'

export const createWrite: WriteInteraction = {
  async locate(ports, request, holders) {
    const type = typeOf(request)
    const { ifNoneExist } = request.preconditions
    if (ifNoneExist === undefined) return { kind: 'target', key: newKey(ports, request) }
    const criteria = criteriaOf(request, type, parseParameterPairs(queryOf(ifNoneExist, type, request.reading)))
    const found = await searchFor(ports, criteria, holders)
    const { matches } = found
    if (matches.length > 1) throw tooManyMatches()
    const [version] = matches.length === 1 ? await ports.resources(request, 's').versions(matches) : []
    if (version !== undefined) {
      const response = await redactResponse(request, version, unchangedResponse(request, version), ports)
      // Return a copy of the key. `version` has a body, and a transaction holds the keys of all its entries.
      return { kind: 'answer', response, key: { tenant: version.tenant, type, id: version.id } }
    }
    // `resources` returned no match: it is hidden from the caller, or the store lacks it. Continue as without a match if it is hidden. If
    // the store lacks it, isMatchSuperseded throws the fault `index-ahead`.
    for (const match of matches) isMatchSuperseded({ matched: match.versionId }, (await ports.heads([match]))[0])
    const key = newKey(ports, request)
    return { kind: 'target', key, uniqueness: uniquenessOf(criteria, found, key, holders) }
  },
  change(ports, request, target, head) {
    const { type, id } = target.key
    if (head !== undefined && !head.deleted) throw fhirError(409, 'conflict', `A resource ${type}/${id} exists already: update it with PUT`)
    return andThen(ports.resolve(bodyOf(request)), (resource) => prepareVersion(ports, request, target, head, resource))
  },
}

/**
 * Returns the criteria of If-None-Exist without a leading `Patient?` or URL, which some clients send. Throws FhirError 400 if it names
 * another type or server. https://hl7.org/fhir/R4/http.html#ccreate
 */
function queryOf(ifNoneExist: string, type: string, bases: BaseUrls): string {
  const [, path] = /^([^?=&]+)\?/.exec(ifNoneExist) ?? []
  if (path === undefined) return ifNoneExist
  if (toRelative(path, bases).replace(/^\//, '') !== type)
    throw fhirError(400, 'value', `If-None-Exist is a search of ${type} on this server: what stands before its ? is another`)
  return ifNoneExist.slice(path.length)
}

export const create = (ports: WritePorts): Interaction => writeLoop(ports, createWrite)

function newKey({ choices, clock }: AttemptPorts, request: FhirRequest): ResourceKey {
  const resource: Resource = bodyOf(request)
  const { tenant } = request
  const type = typeOf(request)
  if (resource.id === undefined) {
    if (choices.clientIds === 'required')
      throw fhirError(
        400,
        'required',
        `Creating ${withArticle(type)} needs an id of the client's choice in its body (FHIR_CLIENT_IDS=optional lets the server choose)${transactionAdvice(resource)}`,
        `${type}.id`,
      )
    return { tenant, type, id: clock.newId() }
  }
  if (!isId(resource.id)) throw malformedId(`${type}.id`)
  return { tenant, type, id: resource.id }
}

/** Returns advice for a Bundle that was POSTed to /Bundle, which only stores it. Its client probably wants its entries processed. */
const transactionAdvice = ({ resourceType, type }: Resource): string =>
  resourceType === 'Bundle' && (type === 'transaction' || type === 'batch')
    ? `. To process the entries of a ${type}, POST it to the base URL`
    : ''
