/** What update and patch do with the version they follow: another one after it, unless nothing changes and the server is to say so. */
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
  // Who may not see it is not told that it has guessed it.
  return andThen(
    isVisibleTo(request, head, ports),
    (isShown): Awaitable<PreparedWrite | ResponseWithoutWrite> => (isShown ? noOpWrite(request, head, ports) : next()),
  )
}

/** But for what the server writes into it itself. */
function isSameAs({ lastUpdated, versionId, id, body }: ResourceVersion, resource: Resource): boolean {
  const current = parseJsonBytes(body) as Resource
  return isSame(stampResource(current, id, versionId, lastUpdated), stampResource(resource, id, versionId, lastUpdated))
}

/** The members of an object have no order; 1.10 is another decimal than 1.1. https://hl7.org/fhir/R4/datatypes.html#decimal */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]))
  if (!isElement(a) || !isElement(b)) return a === b
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
}
