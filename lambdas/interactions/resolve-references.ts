/** References that say a search, or the fullUrl of an entry, become what they mean before a resource is stored. https://hl7.org/fhir/R4/http.html#trules */
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { conditionalReferences, placeOf, replaceReferences } from '../fhir/references.ts'
import type { Resource } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import { criteriaOf, matchesOf, pairsOf } from './conditional.ts'
import type { Awaitable, FhirRequest, Ports } from './interaction.ts'
import { nameOf } from './key.ts'
import { limited } from './limited.ts'

/** FhirError with the element: 412 where a search has no match, or several; 400 where it is none; 413 for too many. */
export type Resolve = (resource: Resource) => Awaitable<Resource>

const AT_ONCE = 32
/** Different searches of one request. */
const MOST_SEARCHES = 10_000

/** For the resources of one request: each search is made once. `fullUrls`: what they mean, as `Type/id`. */
export function resolving(
  ports: Pick<Ports, 'index' | 'resources'>,
  request: Pick<FhirRequest, 'tenant' | 'reading'>,
  fullUrls: ReadonlyMap<string, string> = NONE,
): Resolve {
  const found = new Map<string, Promise<string>>()
  const takeTurn = limited(AT_ONCE)
  const once = (reference: string): Promise<string> => {
    const known = found.get(reference)
    if (known !== undefined) return known
    if (found.size === MOST_SEARCHES)
      throw fhirError(413, 'too-costly', `A request has at most ${MOST_SEARCHES} different conditional references`)
    const target = takeTurn(() => targetOf(ports, request, reference))
    found.set(reference, target)
    return target
  }
  return (resource) => {
    const searches = conditionalReferences(resource)
    if (searches.length > 0) return bySearch(resource, [...new Set(searches)], once, fullUrls)
    return fullUrls.size === 0 ? resource : replaceReferences(resource, (reference) => fullUrls.get(reference))
  }
}

const NONE: ReadonlyMap<string, string> = new Map()

async function bySearch(
  resource: Resource,
  searches: readonly string[],
  once: (reference: string) => Promise<string>,
  fullUrls: ReadonlyMap<string, string>,
): Promise<Resource> {
  const at = async (reference: string): Promise<readonly [string, string]> => {
    try {
      return [reference, await once(reference)]
    } catch (thrown) {
      throw thrown instanceof FhirError ? withPlace(thrown, placeOf(resource, reference)) : thrown
    }
  }
  const known = new Map([...fullUrls, ...(await Promise.all(searches.map(at)))])
  return replaceReferences(resource, (reference) => known.get(reference))
}

const withPlace = ({ status, issues }: FhirError, expression: string | undefined): FhirError =>
  new FhirError(status, expression === undefined ? issues : issues.map((issue) => ({ ...issue, expression })))

async function targetOf(ports: Pick<Ports, 'index' | 'resources'>, request: Pick<FhirRequest, 'tenant' | 'reading'>, reference: string) {
  const at = reference.indexOf('?')
  const type = reference.slice(0, at)
  if (!isResourceType(type)) throw fhirError(400, 'value', 'The reference is to a resource type that does not exist')
  const [match, second] = await matchesOf(ports, criteriaOf(request, type, pairsOf(reference.slice(at))))
  if (match === undefined) throw fhirError(412, 'not-found', `A conditional reference to ${type} has no match`)
  if (second !== undefined) throw fhirError(412, 'multiple-matches', `A conditional reference to ${type} has several matches`)
  return nameOf(match)
}
