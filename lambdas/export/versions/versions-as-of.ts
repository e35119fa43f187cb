/** Versions of given resources that were current at an instant. */
import { isFault, type MachineFault } from '../../ports/faults.ts'
import type { DamagedVersion, ResourceKey, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'

type Versions = Pick<ResourceReader, 'heads' | 'versions' | 'history'>

export type VersionAsOf = ResourceVersion | DamagedVersion | undefined

export const isDamaged = (version: VersionAsOf): version is DamagedVersion => version !== undefined && 'damage' in version

/**
 * Returns for each key, in order, the version with the highest lastUpdated ≤ asOf. It may be a deletion. It is undefined if there was no
 * version yet.
 */
export async function versionsAsOf(resources: Versions, keys: readonly ResourceKey[], asOf: number): Promise<readonly VersionAsOf[]> {
  const heads = await headsOf(resources, keys)
  return Promise.all(
    heads.map((head) => (head === undefined || (!isDamaged(head) && head.lastUpdated <= asOf) ? head : before(resources, head, asOf))),
  )
}

/**
 * Returns the current versions. If a damaged version has no readable version number, the whole read fails. Then each key is read
 * separately.
 */
async function headsOf(resources: Versions, keys: readonly ResourceKey[]): Promise<readonly VersionAsOf[]> {
  return orDamage(
    () => resources.heads(keys),
    async (damage) => {
      const [key] = keys
      if (keys.length === 1) return [{ ...key!, versionId: 0, deleted: false, damage }]
      return Promise.all(keys.map(async (each) => (await headsOf(resources, [each]))[0]))
    },
  )
}

async function before(
  resources: Versions,
  { tenant, type, id, versionId }: ResourceVersion | DamagedVersion,
  asOf: number,
): Promise<VersionAsOf> {
  const key = { tenant, type, id }
  let head = { versionId, deleted: false }
  return orDamage<VersionAsOf>(
    async () => {
      const { versions } = await resources.history(key, { before: asOf + 1, placesOnly: true }, undefined, 1)
      if (versions[0] === undefined) return undefined
      head = versions[0]
      return (await resources.versions([{ ...key, versionId: head.versionId }]))[0]
    },
    async (damage) => ({ ...key, versionId: head.versionId, deleted: head.deleted, damage }),
  )
}

async function orDamage<Found>(read: () => Promise<Found>, onDamage: (damage: MachineFault) => Promise<Found>): Promise<Found> {
  try {
    return await read()
  } catch (error) {
    if (isFault(error, 'store-damaged')) return onDamage(error)
    throw error
  }
}
