/** HL7's StructureDefinitions as the generator of cases reads them: nothing here comes from the server's own tables. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const PACKAGE = join(import.meta.dirname, '../../../node_modules/hl7.fhir.r4.examples')

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
export type Tree = Record<string, any>

export type Type = { readonly code: string; readonly targets: readonly string[]; readonly profiles: readonly string[] }

export type Definition = {
  /** `Observation.component.value[x]` */
  readonly path: string
  readonly min: number
  readonly max: string
  readonly types: readonly Type[]
  readonly binding: { readonly strength: string; readonly valueSet: string } | undefined
  readonly constraints: readonly string[]
  /** Where what it holds is defined, if not by its type. */
  readonly content: string | undefined
}

/** As it stands in JSON: `valueQuantity`, of one type. `at`: where the members of its value are defined; undefined for a primitive. */
export type Member = { readonly key: string; readonly type: Type; readonly at: string | undefined; readonly definition: Definition }

export const readPackage = (file: string): Tree => JSON.parse(readFileSync(join(PACKAGE, file), 'utf8'))

const FHIR_TYPE = 'http://hl7.org/fhir/StructureDefinition/structuredefinition-fhir-type'

/** Resource.id is an `id`; the definitions of R4 say `string`. https://hl7.org/fhir/R4/resource.html#id */
function typeOf(isIdOfResource: boolean, { code, targetProfile = [], profile = [], extension = [] }: Tree): Type {
  const declared = extension.find(({ url }: Tree) => url === FHIR_TYPE)?.valueUrl
  return { code: isIdOfResource ? 'id' : (declared ?? code), targets: targetProfile.map(nameOf), profiles: profile.map(nameOf) }
}

const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1)

export const PRIMITIVES = new Set<string>()
export const RESOURCES = new Set<string>()
const BY_PATH = new Map<string, Definition>()
const CHILDREN = new Map<string, Definition[]>()

for (const file of readdirSync(PACKAGE).sort()) {
  if (!/^StructureDefinition-[A-Za-z0-9]+\.json$/.test(file)) continue
  const definition = readPackage(file)
  if (definition.derivation === 'constraint' || definition.kind === 'logical' || definition.snapshot === undefined) continue
  if (definition.kind === 'primitive-type') PRIMITIVES.add(definition.type)
  if (definition.kind === 'resource' && definition.abstract === false) RESOURCES.add(definition.type)
  for (const element of definition.snapshot.element) note(element, definition.kind === 'resource')
}

function note(element: Tree, isOfResource: boolean): void {
  const { path, min, max, type = [], binding, constraint = [], contentReference } = element
  const definition: Definition = {
    path,
    min,
    max,
    types: type.map((each: Tree) => typeOf(isOfResource && /^\w+\.id$/.test(path), each)),
    binding: binding?.valueSet === undefined ? undefined : { strength: binding.strength, valueSet: binding.valueSet.split('|')[0] },
    constraints: constraint.filter((each: Tree) => each.severity === 'error').map((each: Tree) => each.key),
    content: contentReference?.slice(1),
  }
  BY_PATH.set(path, definition)
  const owner = path.slice(0, path.lastIndexOf('.'))
  if (path.includes('.')) CHILDREN.set(owner, [...(CHILDREN.get(owner) ?? []), definition])
}

export const definitionAt = (path: string): Definition => BY_PATH.get(path)!

const MEMBERS = new Map<string, ReadonlyMap<string, Member>>()

/** `at`: a type, or the path of an element that has its own members. */
export function membersAt(at: string): ReadonlyMap<string, Member> {
  const cached = MEMBERS.get(at)
  if (cached !== undefined) return cached
  const members = new Map((CHILDREN.get(at) ?? []).flatMap(formsOf).map((member) => [member.key, member] as const))
  MEMBERS.set(at, members)
  return members
}

/** A choice has a form for each type. */
function formsOf(definition: Definition): readonly Member[] {
  const { path, types, content } = definition
  const name = path.slice(path.lastIndexOf('.') + 1)
  if (content !== undefined) return [{ key: name, type: { code: 'BackboneElement', targets: [], profiles: [] }, at: content, definition }]
  return types.map((type) => {
    const key = name.endsWith('[x]') ? name.slice(0, -3) + type.code[0]!.toUpperCase() + type.code.slice(1) : name
    const at = CHILDREN.has(path) ? path : PRIMITIVES.has(type.code) ? undefined : type.code
    return { key, type, at, definition }
  })
}

export const isChoice = ({ definition }: Member): boolean => definition.path.endsWith('[x]')
export const isList = ({ definition }: Member): boolean => definition.max !== '1' && definition.max !== '0'
export const isRequired = ({ definition }: Member): boolean => definition.min > 0
