/** The definitions in the archive of a package. https://confluence.hl7.org/display/FHIR/NPM+Package+Specification */
import { createReadStream } from 'node:fs'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import type { Resource } from '../../lambdas/fhir/resource.ts'

export type Archive = { readonly name: string; readonly version: string; readonly definitions: readonly Resource[] }

const DEFINITION = /^package\/(?:StructureDefinition|ValueSet|CodeSystem|SearchParameter|CapabilityStatement)-[^/]+\.json$/

export async function archived(file: string): Promise<Archive> {
  const texts = new Map<string, string>()
  const unpacked = extract()
  const read = pipeline(createReadStream(file), createGunzip(), unpacked)
  for await (const entry of unpacked) {
    const { name } = entry.header
    if (name === 'package/package.json' || DEFINITION.test(name)) texts.set(name, await text(entry))
    else entry.resume()
  }
  await read
  const { name, version } = JSON.parse(texts.get('package/package.json') ?? '{}')
  texts.delete('package/package.json')
  const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1))
  return { name, version, definitions: sorted.map(([, json]) => JSON.parse(json)) }
}
