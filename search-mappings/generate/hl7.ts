/** Reads HL7's definitions of R4 from the package hl7.fhir.r4.examples. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Resource } from '../../lambdas/fhir/resource.ts'

export type StructureDefinition = {
  readonly type: string
  readonly kind: 'resource' | 'complex-type' | 'primitive-type' | 'logical'
  readonly abstract?: boolean
  readonly derivation?: 'specialization' | 'constraint'
  readonly snapshot?: { readonly element: readonly ElementDefinition[] }
}

export type ElementDefinition = {
  readonly path: string
  readonly min: number
  readonly max: string
  readonly contentReference?: string
  readonly isSummary?: boolean
  readonly type?: readonly ElementType[]
  readonly constraint?: readonly Constraint[]
  readonly binding?: { readonly strength: string; readonly valueSet?: string }
}

export type ElementType = {
  readonly code: string
  readonly extension?: readonly { readonly url: string; readonly valueUrl?: string; readonly valueUri?: string }[]
  readonly profile?: readonly string[]
  readonly targetProfile?: readonly string[]
}

export type Constraint = { readonly key: string; readonly severity: string; readonly human: string; readonly expression?: string }

export type SearchParameterResource = {
  readonly id: string
  readonly url: string
  readonly code: string
  readonly type: string
  readonly base?: readonly string[]
  readonly expression?: string | undefined
  readonly target?: readonly string[]
  readonly component?: readonly { readonly definition: string; readonly expression: string }[]
}

export type Concept = { readonly code: string; readonly concept?: readonly Concept[] }
export type CodeSystem = { readonly url: string; readonly content: string; readonly concept?: readonly Concept[] }
export type ValueSetInclude = {
  readonly system?: string
  readonly valueSet?: readonly string[]
  readonly concept?: readonly Concept[]
  readonly filter?: readonly { readonly property: string; readonly op: string; readonly value: string }[]
}
export type ValueSet = {
  readonly compose?: { readonly include: readonly ValueSetInclude[]; readonly exclude?: readonly ValueSetInclude[] }
}
export type CompartmentDefinition = {
  readonly code: string
  readonly resource: readonly { readonly code: string; readonly param?: readonly string[] }[]
}

export const PACKAGE_FOLDER = join(import.meta.dirname, '../../node_modules/hl7.fhir.r4.examples')

const read = <T>(file: string): T => JSON.parse(readFileSync(join(PACKAGE_FOLDER, file), 'utf8')) as T

/** Returns the file names in alphabetical order, regardless of the file system's order. */
const files = (type: string): readonly string[] =>
  readdirSync(PACKAGE_FOLDER)
    .filter((file) => file.startsWith(`${type}-`))
    .sort()

/** Returns the types themselves, without profiles, extensions and logical models. */
export function readTypeDefinitions(): readonly StructureDefinition[] {
  return files('StructureDefinition')
    .filter((file) => !file.slice('StructureDefinition-'.length).includes('-'))
    .map((file) => read<StructureDefinition>(file))
    .filter((type) => type.derivation !== 'constraint' && type.kind !== 'logical' && type.snapshot !== undefined)
}

/** Returns a profile of a data type, for example SimpleQuantity. */
export const readProfile = (url: string): StructureDefinition =>
  read<StructureDefinition>(`StructureDefinition-${url.slice(url.lastIndexOf('/') + 1)}.json`)

/** Returns the search parameters, without the three that are examples of the resource type. */
export const readSearchParameters = (): readonly SearchParameterResource[] =>
  files('SearchParameter')
    .filter((file) => !file.startsWith('SearchParameter-example'))
    .map((file) => read<SearchParameterResource>(file))

export const readCompartmentDefinitions = (): readonly CompartmentDefinition[] =>
  files('CompartmentDefinition')
    .filter((file) => !file.includes('-example'))
    .map((file) => read<CompartmentDefinition>(file))

export function readValueSet(url: string): ValueSet | undefined {
  const file = `ValueSet-${url.slice(url.lastIndexOf('/') + 1)}.json`
  return existsSync(join(PACKAGE_FOLDER, file)) ? read<ValueSet>(file) : undefined
}

/** Returns a code system, or undefined if the package has none. Most files are named after the end of the url, but some are not. */
export function readCodeSystem(url: string): CodeSystem | undefined {
  const file = `CodeSystem-${url.slice(url.lastIndexOf('/') + 1)}.json`
  const found = existsSync(join(PACKAGE_FOLDER, file)) ? read<CodeSystem>(file) : undefined
  if (found?.url === url) return found
  others ??= new Map(
    files('CodeSystem')
      .map((name) => read<CodeSystem>(name))
      .map((system) => [system.url, system]),
  )
  return others.get(url)
}

let others: ReadonlyMap<string, CodeSystem> | undefined

/** Returns all definitions of a resource type, in the order of their file names. */
export const readDefinitions = (type: string): readonly Resource[] => files(type).map((file) => read<Resource>(file))
