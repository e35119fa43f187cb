/** Members of a type by FHIRPath name: `value` stands for valueString, valueQuantity and all other forms. */
import type { TypeDefinitions } from './definitions.ts'

export type Member = {
  readonly key: string
  readonly type: string
  readonly list: boolean
  /** Code system of a code, if its binding allows only one. */
  readonly system?: string
}

export type MemberLookup = (type: string, name: string) => readonly Member[]

/**
 * Creates a lookup that caches the members of each type. `isByJsonName`: also finds a choice by its JSON name, such as `valueString`, which
 * is not a FHIRPath name.
 */
export function createMemberLookup({ shapes, codeSets }: Pick<TypeDefinitions, 'shapes' | 'codeSets'>, isByJsonName = false): MemberLookup {
  const cache = new Map<string, Map<string, Member[]>>()
  const namesOf = (type: string): Map<string, Member[]> => {
    const members = new Map<string, Member[]>()
    if (!Object.hasOwn(shapes, type)) return members
    for (const [key, { type: elementType, list = false, choice, codes }] of Object.entries(shapes[type]!.elements)) {
      const systems = elementType === 'code' && typeof codes === 'number' ? Object.keys(codeSets[codes]!.codes) : []
      const name = choice ?? key
      members.set(name, [
        ...(members.get(name) ?? []),
        { key, type: elementType, list, ...(systems.length === 1 ? { system: systems[0]! } : {}) },
      ])
    }
    return members
  }
  return (type, name) => {
    let members = cache.get(type)
    if (members === undefined) {
      members = namesOf(type)
      cache.set(type, members)
    }
    const found = members.get(name)
    if (found !== undefined || !isByJsonName || !Object.hasOwn(shapes, type) || !Object.hasOwn(shapes[type]!.elements, name))
      return found ?? []
    return members.get(shapes[type]!.elements[name]!.choice!)!.filter(({ key }) => key === name)
  }
}
