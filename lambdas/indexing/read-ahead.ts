/** Somebody's own parameters whose evaluation is watched are evaluated on many resources under one watch. */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import { parametersOf } from '../search/parameters.ts'
import type { Reading } from '../search/reading.ts'

/** The resources of the types that have such parameters, which know their values from now on. What cannot be read is left out. */
export function readAhead(versions: readonly ResourceVersion[], { custom = [] }: Reading): ReadonlyMap<ResourceVersion, Resource> {
  const read = new Map<ResourceVersion, Resource>()
  for (const type of new Set(custom.map(({ base }) => base))) {
    const evaluations = parametersOf(type, custom).flatMap(({ ahead }) => ahead ?? [])
    if (evaluations.length === 0) continue
    for (const version of versions) if (version.type === type && !version.deleted) readInto(read, version)
    const resources = [...read.values()].filter(({ resourceType }) => resourceType === type)
    for (const ahead of evaluations) ahead(resources)
  }
  return read
}

function readInto(read: Map<ResourceVersion, Resource>, version: ResourceVersion): void {
  try {
    read.set(version, parseJsonBytes(version.body) as Resource)
  } catch {
    // Met again, and told, when its document is made.
  }
}
