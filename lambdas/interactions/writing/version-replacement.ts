/** Version that update and patch add after the current one. They add none if nothing changes and the setting `noOpUpdates` is `ignore`. */
import { parseJsonBytes } from '../../fhir/json.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { stampResource } from '../../fhir/version.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Awaitable, FhirRequest } from '../interaction.ts'
import { type Head, isVisibleTo } from './head-access.ts'
import { type NextVersionPorts, noOpWrite, prepareVersion } from './next-version.ts'
import { type AttemptPorts, andThen, type PreparedWrite, type ResponseWithoutWrite, type WriteTarget } from './write-loop.ts'
import { toStoredResource } from './write-warnings.ts'

export function prepareReplacement(
  { choices, ...ports }: NextVersionPorts & Pick<AttemptPorts, 'choices'>,
  request: FhirRequest,
  target: WriteTarget,
  head: Head | undefined,
  resource: Resource,
): Awaitable<PreparedWrite | ResponseWithoutWrite> {
  const next = () => prepareVersion(ports, request, target, head, resource)
  const isToBeSaved = choices.noOpUpdates === 'version' || head === undefined || head.deleted || 'damage' in head
  if (isToBeSaved || !isSameAs(head, toStoredResource(resource))) return next()
  // If the current version is hidden, add a version anyway. Otherwise the response would confirm guessed content.
  return andThen(
    isVisibleTo(request, head, ports),
    (isShown): Awaitable<PreparedWrite | ResponseWithoutWrite> => (isShown ? noOpWrite(request, head, ports) : next()),
  )
}

/** Whether the resource has the content of the current version, apart from the id and the meta elements that the server sets. */
function isSameAs({ lastUpdated, versionId, id, body }: ResourceVersion, resource: Resource): boolean {
  const current = parseJsonBytes(body) as Resource
  return isSame(stampResource(current, id, versionId, lastUpdated), stampResource(resource, id, versionId, lastUpdated))
}

/**
 * Whether two JSON values are equal. The order of members does not matter. 1.10 and 1.1 are different decimals.
 * https://hl7.org/fhir/R4/datatypes.html#decimal
 */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]))
  if (!isElement(a) || !isElement(b)) return a === b
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
}
