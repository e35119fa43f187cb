/** What update and patch do with the version they follow: another one after it, unless nothing changes and the server is to say so. */
import { parseJsonBytes } from '../../fhir/json.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { stamp } from '../../fhir/version.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Awaitable, FhirRequest } from '../interaction.ts'
import { type Head, isShownTo } from './head-access.ts'
import { leftAsItIs, type SavePorts, save } from './next-version.ts'
import { type Answer, type AttemptPorts, andThen, type Change, type Target } from './write-loop.ts'
import { keptAs } from './write-warnings.ts'

export function saveOver(
  { choices, ...ports }: SavePorts & Pick<AttemptPorts, 'choices'>,
  request: FhirRequest,
  target: Target,
  head: Head | undefined,
  resource: Resource,
): Awaitable<Change | Answer> {
  const next = () => save(ports, request, target, head, resource)
  const isToBeSaved = choices.noOpUpdates === 'version' || head === undefined || head.deleted || 'damage' in head
  if (isToBeSaved || !isSameAs(head, keptAs(resource))) return next()
  // Who may not see it is not told that it has guessed it.
  return andThen(
    isShownTo(request, head, ports),
    (isShown): Awaitable<Change | Answer> => (isShown ? leftAsItIs(request, head, ports) : next()),
  )
}

/** But for what the server writes into it itself. */
function isSameAs({ lastUpdated, versionId, id, body }: ResourceVersion, resource: Resource): boolean {
  const current = parseJsonBytes(body) as Resource
  return isSame(stamp(current, id, versionId, lastUpdated), stamp(resource, id, versionId, lastUpdated))
}

/** The members of an object have no order; 1.10 is another decimal than 1.1. https://hl7.org/fhir/R4/datatypes.html#decimal */
function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isSame(item, b[i]))
  if (!isElement(a) || !isElement(b)) return a === b
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
}
