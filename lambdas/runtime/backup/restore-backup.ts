/**
 * Restores a backup of all versions. Each version is committed as the next one of its resource, with its own number and time. A version that
 * exists already must be the same. So a repeated restore changes nothing, and continues where the previous one ended.
 */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { ResourceReader, ResourceVersion, ResourceWriter } from '../../ports/store/resource-store.ts'
import { identifierEntriesOf } from '../../search/documents/identifiers.ts'
import {
  BackupFault,
  type BackupObject,
  type BackupStore,
  checkFormat,
  differenceOf,
  digestOf,
  linesIn,
  MANIFEST_KEY,
  type Manifest,
  placeOf,
  readJson,
  type TotalCount,
  totalOf,
  VersionCounts,
} from './backup-format.ts'

/** Number of objects of a backup that are restored, stored beside the versions. */
export interface RestoreProgress {
  read(backup: string): Promise<number>
  write(backup: string, objects: number): Promise<void>
  remove(backup: string): Promise<void>
}

export type RestoreOptions = {
  readonly store: BackupStore
  /** Store that gets the versions. */
  readonly target: Pick<ResourceReader, 'versions'> & ResourceWriter
  /** Name of the target, in messages. */
  readonly name: string
  readonly progress?: RestoreProgress
  /** Called with the counts so far, after each object, and at the start if some are restored. `versions`: number of versions of the backup. */
  readonly onProgress?: (counts: TotalCount, versions: number) => void
}

/** Resources whose versions are committed at the same time. */
const RESOURCES_AT_ONCE = 64

/**
 * Restores all versions and returns the manifest. Throws a BackupFault for an object that is missing or differs from the manifest, and for a
 * resource that has other versions in the target.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { store, progress, onProgress = () => undefined } = options
  const manifest = await readManifest(store)
  const total = totalOf(manifest.counts).versions
  const restored = new VersionCounts()
  const first = (await progress?.read(manifest.id)) ?? 0
  for (const each of manifest.objects.slice(0, first)) restored.addAll(each.counts)
  if (first > 0) onProgress(restored.total(), total)
  for (const [i, object] of manifest.objects.entries()) {
    if (i < first) continue
    restored.addAll(await restoreObject(options, object))
    await progress?.write(manifest.id, i + 1)
    onProgress(restored.total(), total)
  }
  const difference = differenceOf(manifest.counts, restored.all())
  // guard: restored-counts-are-compared
  if (difference !== undefined) throw new BackupFault('count', placeOf(store, MANIFEST_KEY), difference)
  await progress?.remove(manifest.id)
  return manifest
}

async function readManifest(store: BackupStore): Promise<Manifest> {
  const manifest = await readJson<Manifest>(store, MANIFEST_KEY)
  if (manifest === undefined)
    throw new BackupFault(
      'missing',
      placeOf(store, MANIFEST_KEY),
      'does not exist: there is no backup, or it is unfinished and its command must be repeated',
    )
  checkFormat(store, MANIFEST_KEY, manifest)
  return manifest
}

/** Returns the counts of the versions that are in the target now. */
async function restoreObject(options: RestoreOptions, object: BackupObject): Promise<BackupObject['counts']> {
  const bytes = await readObject(options.store, object)
  const counts = new VersionCounts()
  const resources = new Map<string, ResourceVersion[]>()
  for (const line of linesIn(bytes)) {
    counts.add(line)
    const { tenant, type, id } = line.version
    const name = `${tenant} ${type} ${id}`
    const versions = resources.get(name)
    if (versions === undefined) resources.set(name, [line.version])
    else versions.push(line.version)
  }
  const difference = differenceOf(object.counts, counts.all())
  if (difference !== undefined) throw new BackupFault('count', placeOf(options.store, object.key), difference)
  await forEachInParallel([...resources.values()], RESOURCES_AT_ONCE, (versions) => restoreResource(options, versions))
  return counts.all()
}

async function readObject(store: BackupStore, { key, sha256 }: BackupObject): Promise<Uint8Array> {
  const place = placeOf(store, key)
  const blob = await store.get(key)
  if (blob === undefined) throw new BackupFault('missing', place, 'does not exist, but the manifest names it')
  // guard: backup-object-checksum
  if (digestOf(blob.bytes) !== sha256) throw new BackupFault('checksum', place, 'has another checksum than the manifest')
  return promisify(gunzip)(blob.bytes)
}

async function restoreResource({ target, name }: RestoreOptions, versions: readonly ResourceVersion[]): Promise<void> {
  for (const [i, version] of versions.entries()) {
    const { versionId, ...write } = version
    // Only the current version needs rows of its identifiers.
    const identifiers = i === versions.length - 1 ? identifierEntriesOf([version])[0]?.identifiers : undefined
    const { kind } = await target.commit([{ ...write, expected: versionId - 1, ...(identifiers === undefined ? {} : { identifiers }) }], [])
    if (kind === 'committed') continue
    const [existing] = await target.versions([version])
    // guard: restore-keeps-other-versions
    if (existing === undefined || !isSame(existing, version))
      throw new BackupFault(
        'occupied',
        `${version.type}/${version.id} of tenant ${version.tenant}`,
        `has other versions in ${name}: restore into a deployment without the resources of the backup`,
      )
  }
}

const isSame = (a: ResourceVersion, b: ResourceVersion): boolean =>
  a.lastUpdated === b.lastUpdated &&
  a.deleted === b.deleted &&
  a.made === b.made &&
  a.compartments.join(' ') === b.compartments.join(' ') &&
  Buffer.compare(a.body, b.body) === 0
