/** Versions as a caller with a view receives them. Only requests of such callers load this file and its imports. */
import { parseJsonBytes, writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { mayChange, type ViewOptions, viewOf } from './view.ts'
import { isHiddenType, type View } from './view-rules.ts'

/**
 * Returns the version under the view, or undefined if the view hides it. A version without a body stays the same. Throws the fault
 * `store-damaged` if the body must change and is not JSON.
 */
export function viewedVersion(version: ResourceVersion, view: View, options: ViewOptions): ResourceVersion | undefined {
  const { type, body } = version
  if (body.length === 0 || !mayChange(type, Buffer.from(body.buffer, body.byteOffset, body.length), view)) return version
  const whole = resourceOf(version)
  const shown = viewOf(whole, view, options)
  if (shown === whole) return version
  return shown === undefined ? undefined : { ...version, body: Buffer.from(writeJson(shown)) }
}

/** Returns the version as it is stored, or undefined if the view hides its type. */
export const storedVersion = (version: ResourceVersion, view: View): ResourceVersion | undefined =>
  isHiddenType(version.type, view) ? undefined : version

/** Returns the parsed resource. Throws the fault `store-damaged` if the body is not JSON. */
export function resourceOf({ body }: Pick<ResourceVersion, 'body'>): Resource {
  try {
    return parseJsonBytes(body) as Resource
  } catch {
    throw new MachineFault('store-damaged', 'a stored resource is not JSON')
  }
}
