/** A package of definitions as checks read it: a file for each type that profiles are about. https://hl7.org/fhir/R4/packages.html */
import type { Resource } from '../resource.ts'
import type { Profile } from './definition.ts'
import { withoutPlain } from './plain.ts'
import { slim, Unusable } from './slim.ts'
import { slimCodeSystem, slimValueSet } from './slim-value-set.ts'
import type { CodeSystem, ValueSet } from './value-set.ts'

/** Canonical, without a version → definition. */
export type PackageFile<Definition> = Readonly<Record<string, Definition>>

export type Package = {
  readonly name: string
  readonly version: string
  /** By the type they are about. */
  readonly profiles: Readonly<Record<string, PackageFile<Profile>>>
  readonly valueSets: PackageFile<ValueSet>
  readonly codeSystems: PackageFile<CodeSystem>
}

/** What cannot be used, and why. */
export type LeftOut = { readonly url: string; readonly reason: string }

export function packageOf(
  { name, version }: Pick<Package, 'name' | 'version'>,
  definitions: readonly Resource[],
  isKnown: (key: string) => boolean,
): { readonly made: Package; readonly leftOut: readonly LeftOut[] } {
  const profiles: Record<string, Record<string, Profile>> = Object.create(null)
  const valueSets: Record<string, ValueSet> = Object.create(null)
  const codeSystems: Record<string, CodeSystem> = Object.create(null)
  const leftOut: LeftOut[] = []
  for (const definition of definitions) {
    if (definition.resourceType === 'ValueSet') keep(slimValueSet(definition), valueSets)
    else if (definition.resourceType === 'CodeSystem') keep(slimCodeSystem(definition), codeSystems)
    else if (definition.resourceType === 'StructureDefinition' && definition.kind !== 'logical') {
      const profile = usable(definition, isKnown, leftOut)
      if (profile === undefined) continue
      profiles[profile.type] ??= Object.create(null)
      keep(profile, profiles[profile.type]!)
    }
  }
  return { made: { name, version, profiles, valueSets, codeSystems }, leftOut }
}

function keep<Definition extends { readonly url: string }>(definition: Definition | undefined, into: Record<string, Definition>): void {
  if (definition !== undefined) into[definition.url] = definition
}

function usable(definition: Resource, isKnown: (key: string) => boolean, leftOut: LeftOut[]): Profile | undefined {
  try {
    return withoutPlain(slim(definition, isKnown))
  } catch (error) {
    if (!(error instanceof Unusable)) throw error
    leftOut.push({ url: String(definition.url), reason: error.message })
    return undefined
  }
}
