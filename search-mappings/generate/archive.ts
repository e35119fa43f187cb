/** Reads the definitions in the archive of a package, sorted by type and id. */
import { createReadStream } from 'node:fs'
import { readArchive } from '../../lambdas/adapters/filesystem/package-archive.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'

export type DefinitionArchive = { readonly name: string; readonly version: string; readonly definitions: readonly Resource[] }

const DEFINITIONS: ReadonlySet<unknown> = new Set([
  'StructureDefinition',
  'ValueSet',
  'CodeSystem',
  'SearchParameter',
  'CapabilityStatement',
])

export async function readDefinitionArchive(file: string): Promise<DefinitionArchive> {
  const definitions: Resource[] = []
  const { name, version } = await readArchive(createReadStream(file), (each) => {
    if (DEFINITIONS.has(each.resourceType)) definitions.push(each as Resource)
  })
  const nameOf = ({ resourceType, id }: Resource): string => `${resourceType}-${id}.json`
  return { name: String(name), version: String(version), definitions: definitions.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)) }
}
