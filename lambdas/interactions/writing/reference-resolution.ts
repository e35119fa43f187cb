/**
 * Replaces conditional references and references by fullUrl with `Type/id`, before a resource is stored.
 * https://hl7.org/fhir/R4/http.html#trules
 */
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { conditionalReferencesOf, referenceLocationOf, replaceReferences } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import { MachineFault } from '../../ports/faults.ts'
import { parseParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { Awaitable, FhirRequest } from '../interaction.ts'
import { nameOf } from '../resources/request-key.ts'
import { limitConcurrency } from '../time-slices.ts'
import { type CriteriaPorts, criteriaOf, matchesOf } from './conditional-criteria.ts'

/**
 * Returns the resource with its references resolved. `meaningOf`: returns the target of a reference by fullUrl. Throws FhirError that names
 * the element: 412 if a search has no match or several, 400 for an invalid search, 413 for too many searches. Throws the fault
 * `index-ahead` if the store lacks the match.
 */
export type ReferenceResolver = (resource: Resource, meaningOf?: ReferenceTargetOf) => Awaitable<Resource>

export type ReferenceTargetOf = (reference: string) => string | undefined

/** Maximum different conditional references in one attempt of a request. If there are more, it is answered 413. */
const MOST_SEARCHES = 10_000

/** Creates the resolver for the resources of one attempt. It runs each different search once. */
export function referenceResolver(ports: CriteriaPorts, request: Pick<FhirRequest, 'tenant' | 'access' | 'reading'>): ReferenceResolver {
  const found = new Map<string, Promise<string>>()
  const takeTurn = limitConcurrency()
  const once = async (reference: string): Promise<string> => {
    const known = found.get(reference)
    if (known !== undefined) return known
    if (found.size === MOST_SEARCHES)
      throw fhirError(413, 'too-costly', `A request has at most ${MOST_SEARCHES} different conditional references`)
    const target = takeTurn(() => targetOf(ports, request, reference))
    found.set(reference, target)
    return target
  }
  return (resource, meaningOf) => {
    const searches = conditionalReferencesOf(resource)
    if (searches.length > 0) return bySearch(resource, [...new Set(searches)], once, meaningOf)
    return meaningOf === undefined ? resource : replaceReferences(resource, meaningOf, meaningOf)
  }
}

async function bySearch(
  resource: Resource,
  searches: readonly string[],
  once: (reference: string) => Promise<string>,
  meaningOf: ReferenceTargetOf = () => undefined,
): Promise<Resource> {
  const targets = await Promise.allSettled(searches.map(once))
  const known = new Map<string, string>()
  for (const [i, target] of targets.entries()) {
    if (target.status === 'fulfilled') known.set(searches[i]!, target.value)
    else throw target.reason instanceof FhirError ? withPlace(target.reason, referenceLocationOf(resource, searches[i]!)) : target.reason
  }
  return replaceReferences(resource, (reference) => known.get(reference) ?? meaningOf(reference), meaningOf)
}

const withPlace = ({ status, issues }: FhirError, expression: string | undefined): FhirError =>
  new FhirError(status, expression === undefined ? issues : issues.map((issue) => ({ ...issue, expression })))

async function targetOf(ports: CriteriaPorts, request: Pick<FhirRequest, 'tenant' | 'access' | 'reading'>, reference: string) {
  const at = reference.indexOf('?')
  const type = reference.slice(0, at)
  if (!isResourceType(type)) throw fhirError(400, 'value', 'The reference is to a resource type that does not exist')
  const [match, second] = await matchesOf(ports, criteriaOf(request, type, parseParameterPairs(reference.slice(at))))
  if (match === undefined) throw fhirError(412, 'not-found', `A conditional reference to ${type} has no match`)
  if (second !== undefined) throw fhirError(412, 'multiple-matches', `A conditional reference to ${type} has several matches`)
  const [found] = await ports.resources(request, 's').versions([match])
  // guard: reference-of-missing-version
  if (found === undefined) throw new MachineFault('index-ahead', 'a conditional reference matches a version that the store does not have')
  return nameOf(match)
}
