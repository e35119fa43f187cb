/** A package of definitions of a test, for HAPI's validator. */
import { basename, dirname } from 'node:path'
import { writeArchiveFile } from '../fixtures/packages.ts'
import { R4_CANONICAL_BASE } from '../fixtures/profiles/checking.ts'
import type { Tree } from '../fixtures/resources.ts'

/** Writes the package, and returns its path. */
export async function hapiPackageOf(
  name: string,
  definitions: readonly Tree[],
): Promise<{ readonly folder: string; readonly names: readonly string[] }> {
  const archive = await writeArchiveFile({
    'package/package.json': { name, version: '1.0.0', fhirVersions: ['4.0.1'] },
    ...Object.fromEntries(
      definitions.map((each) => [`package/${each.resourceType}-${each.id}.json`, withoutUnknownTargets(each, definitions)]),
    ),
  })
  return { folder: dirname(archive), names: [basename(archive)] }
}

/** Returns a profile without the profiles of targets that are not loaded. HAPI rejects each reference to one. */
function withoutUnknownTargets(definition: Tree, loaded: readonly Tree[]): Tree {
  const isKnown = (url: string) => url.startsWith(R4_CANONICAL_BASE) || loaded.some((each) => each.url === url)
  const element = definition.differential?.element.map(({ type, ...rest }: Tree) => ({
    ...rest,
    ...(type === undefined
      ? {}
      : { type: type.map(({ targetProfile, ...each }: Tree) => (targetProfile?.every(isKnown) ? { ...each, targetProfile } : each)) }),
  }))
  return element === undefined ? definition : { ...definition, differential: { element } }
}
