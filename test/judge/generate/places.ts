/** The elements of a resource, each with its definition. */
import { type Member, membersAt, type Tree } from './definitions.ts'

export type Path = readonly (string | number)[]

/** An object: a resource, an element that holds others. */
export type Host = { readonly path: Path; readonly at: string; readonly value: Tree }

/** A member of an object. */
export type Place = { readonly path: Path; readonly member: Member; readonly value: unknown; readonly host: Host }

export type PlacesAndHosts = { readonly hosts: readonly Host[]; readonly places: readonly Place[] }

export function placesIn(resource: Tree): PlacesAndHosts {
  const [hosts, places]: [Host[], Place[]] = [[], []]
  const visit = (value: Tree, at: string, path: Path): void => {
    const host = { path, at, value }
    hosts.push(host)
    const members = membersAt(at)
    for (const [key, held] of Object.entries(value)) {
      const member = members.get(key)
      if (member === undefined) continue
      places.push({ path: [...path, key], member, value: held, host })
      if (member.at === undefined) continue
      const items = Array.isArray(held) ? held.map((item, i) => [item, [...path, key, i]] as const) : [[held, [...path, key]] as const]
      for (const [item, itemPath] of items) visit(item, member.type.code === 'Resource' ? item.resourceType : member.at, itemPath)
    }
  }
  visit(resource, resource.resourceType, [])
  return { hosts, places }
}
