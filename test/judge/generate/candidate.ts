/** A break of a resource, and the smallest change beside it that is right. */
import { codesOf } from './codes.ts'
import { isChoice, type Member, membersAt, PRIMITIVES, RESOURCES, type Tree } from './definitions.ts'
import type { Host, Path, Place, PlacesAndHosts } from './places.ts'
import { EXTENSION, sampleOf } from './samples.ts'

/** What stands at a JSON pointer; without a value it is taken away. An index behind the last adds an item. */
export type Patch = readonly [pointer: string, value?: unknown]

export type Candidate = {
  /** What is done, within its category. */
  readonly kind: string
  /** Path of the element's definition. */
  readonly element: string
  readonly break: readonly Patch[]
  readonly neighbour: readonly Patch[]
}

/** Every way to break a resource that a category knows. */
export type Breaker = (resource: Tree, found: PlacesAndHosts) => readonly Candidate[]

export const pointerOf = (path: Path): string => path.map((step) => `/${step}`).join('')
export const putPatch = (path: Path, value: unknown): Patch => [pointerOf(path), value]
export const removalPatch = (path: Path): Patch => [pointerOf(path)]

export const siblingPath = (path: Path, key: string): Path => [...path.slice(0, -1), key]

/** An extension in place of a value, which may be missing then. https://hl7.org/fhir/R4/extensibility.html#Special-Case */
export const unknownInstead = ({ path, member }: Place): readonly Patch[] => [
  removalPatch(path),
  putPatch(siblingPath(path, `_${member.key}`), { extension: [EXTENSION] }),
]

/** Elements that rules speak of, or that are about the resource as a whole. */
const NOT_TO_BE_ADDED = new Set([
  'id',
  'implicitRules',
  'language',
  'modifierExtension',
  'contained',
  'comparator',
  'versionId',
  'lastUpdated',
  'div',
])

/** An element that may be added to an object: optional, primitive, of no choice; `undefined` where there is none. */
export function addable({ at, value }: Host): { readonly member: Member; readonly value: unknown } | undefined {
  for (const member of membersAt(at).values()) {
    const { key, type, definition } = member
    if (key in value || isChoice(member) || definition.min > 0 || !PRIMITIVES.has(type.code) || NOT_TO_BE_ADDED.has(key)) continue
    const sample = codeFor(member) ?? sampleOf(type.code)
    if (sample !== undefined) return { member, value: definition.max === '1' ? sample : [sample] }
  }
  return undefined
}

/** undefined: any will do. */
export function codeFor({ definition: { binding }, type }: Member, besides?: unknown): string | undefined {
  if (binding?.strength !== 'required' || type.code !== 'code') return undefined
  return codesOf(binding.valueSet).find(({ code }) => code !== besides)?.code
}

/** Adds an element, or an id where none can be added. */
export function addElement(host: Host): readonly Patch[] {
  const free = addable(host)
  const key = RESOURCES.has(host.at) ? 'language' : 'id'
  const named = key === 'id' ? 'some-id' : 'en'
  return [free === undefined ? putPatch([...host.path, key], named) : putPatch([...host.path, free.member.key], free.value)]
}

/** The first items of lists: what holds for one holds for the next. */
export const isFirst = ({ path }: { readonly path: Path }): boolean => path.every((step) => typeof step === 'string' || step === 0)
