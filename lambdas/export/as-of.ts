/** What was current at an instant, of resources that are named. */
import type { ResourceKey, ResourceReader, ResourceVersion } from '../ports/resource-store.ts'

type Versions = Pick<ResourceReader, 'current' | 'history'>

/** Of each key, in their order, the version with the highest lastUpdated ≤ asOf; a deletion too, undefined where there was none yet. */
export async function versionsAsOf(
  resources: Versions,
  keys: readonly ResourceKey[],
  asOf: number,
): Promise<readonly (ResourceVersion | undefined)[]> {
  const heads = await resources.current(keys)
  return Promise.all(heads.map((head) => (head === undefined || head.lastUpdated <= asOf ? head : before(resources, head, asOf))))
}

async function before(resources: Versions, { tenant, type, id }: ResourceKey, asOf: number): Promise<ResourceVersion | undefined> {
  const { versions } = await resources.history({ tenant, type, id }, { before: asOf + 1 }, undefined, 1)
  return versions[0]
}
