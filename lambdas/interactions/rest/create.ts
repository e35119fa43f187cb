/** FHIR create and conditional create. https://hl7.org/fhir/R4/http.html#create */
import { withArticle } from '../../fhir/article.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { type Bases, relative } from '../../fhir/references.ts'
import { isId, type Resource } from '../../fhir/resource.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import { pairsOf } from '../../search/query/parameter-pairs.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { malformedId, typeOf } from '../resources/request-key.ts'
import { criteriaOf, guardOf, matchesOf, tooManyMatches } from '../writing/conditional-criteria.ts'
import { shownTo } from '../writing/head-access.ts'
import { save, unchanged } from '../writing/next-version.ts'
import { bodyOf } from '../writing/request-body.ts'
import { type AttemptPorts, andThen, movedOn, type WriteInteraction, type WritePorts, writing } from '../writing/write-loop.ts'

export const creation: WriteInteraction = {
  async locate(ports, request, holder) {
    const type = typeOf(request)
    const { ifNoneExist } = request.preconditions
    if (ifNoneExist === undefined) return { kind: 'target', key: newKey(ports, request) }
    const criteria = criteriaOf(request, type, pairsOf(queryOf(ifNoneExist, type, request.reading)))
    const matches = await matchesOf(ports, criteria, holder)
    if (matches.length > 1) throw tooManyMatches()
    const [version] = matches.length === 1 ? await ports.resources(request, 's').versions(matches) : []
    if (version !== undefined) {
      const response = await shownTo(request, version, unchanged(request, version), ports)
      // Without the body: a transaction keeps the keys of all its entries.
      return { kind: 'answer', response, key: { tenant: version.tenant, type, id: version.id } }
    }
    // Who may not see what matches writes another; a store that does not have it must not.
    for (const match of matches) movedOn({ matched: match.versionId }, (await ports.heads([match]))[0])
    const key = newKey(ports, request)
    return { kind: 'target', key, guard: guardOf(criteria, key, holder) }
  },
  change(ports, request, target, head) {
    const { type, id } = target.key
    if (head !== undefined && !head.deleted) throw fhirError(409, 'conflict', `A resource ${type}/${id} exists already: update it with PUT`)
    return andThen(ports.resolve(bodyOf(request)), (resource) => save(ports, request, target, head, resource))
  },
}

/** What is searched for; clients also send the whole search. https://hl7.org/fhir/R4/http.html#ccreate */
function queryOf(ifNoneExist: string, type: string, bases: Bases): string {
  const [, path] = /^([^?=&]+)\?/.exec(ifNoneExist) ?? []
  if (path === undefined) return ifNoneExist
  if (relative(path, bases).replace(/^\//, '') !== type)
    throw fhirError(400, 'value', `If-None-Exist is a search of ${type} on this server: what stands before its ? is another`)
  return ifNoneExist.slice(path.length)
}

export const create = (ports: WritePorts): Interaction => writing(ports, creation)

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

/** Clients that mean to process a Bundle often send it to /Bundle, which stores it. */
const transactionAdvice = ({ resourceType, type }: Resource): string =>
  resourceType === 'Bundle' && (type === 'transaction' || type === 'batch')
    ? `. To process the entries of a ${type}, POST it to the base URL`
    : ''
