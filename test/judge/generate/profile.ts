/** A profile's snapshot as the generator reads it: its elements, and where a resource has them. */
import { membersAt, type Tree } from './definitions.ts'
import type { Path } from './places.ts'

export type Profile = { readonly url: string; readonly name: string; readonly type: string; readonly elements: readonly Tree[] }

/** An object that may have an element, and the items it has of it. */
export type Holder = { readonly path: Path; readonly value: Tree; readonly key: string; readonly items: readonly Item[] }
export type Item = { readonly path: Path; readonly value: unknown }

export const profileOf = ({ url, name, type, snapshot }: Tree): Profile => ({ url, name, type, elements: snapshot.element })

export const lastOf = (id: string): string => id.slice(id.lastIndexOf('.') + 1)
export const parentOf = (id: string): string => id.slice(0, id.lastIndexOf('.'))
export const isSlice = (id: string): boolean => lastOf(id).includes(':')

/** Where a resource may have the element of an id: each object, with its items of the slice. */
export function holdersOf(profile: Profile, id: string, resource: Tree): readonly Holder[] {
  const [name = '', slice] = lastOf(id).split(':')
  const owners = parentOf(id).includes('.')
    ? holdersOf(profile, parentOf(id), resource).flatMap(({ items }) => items)
    : [{ path: [], value: resource }]
  return owners.flatMap(({ path, value }) => {
    if (typeof value !== 'object' || value === null) return []
    const owner = value as Tree
    const key = name.endsWith('[x]') ? (formOf(owner, name.slice(0, -3), slice) ?? name) : name
    const items = itemsOf([...path, key], owner[key])
    const belonging = slice === undefined || name.endsWith('[x]') ? items : items.filter((each) => belongs(profile, id, each.value as Tree))
    return [{ path, value: owner, key, items: belonging }]
  })
}

const formOf = (owner: Tree, stem: string, form: string | undefined): string | undefined =>
  Object.keys(owner).find((key) => (form === undefined ? new RegExp(`^${stem}[A-Z]`).test(key) : key === form))

function itemsOf(path: Path, value: unknown): readonly Item[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value.map((each, i) => ({ path: [...path, i], value: each })) : [{ path, value }]
}

/** By the extension's url, or by all fixed values and patterns within the slice. */
function belongs({ elements }: Profile, id: string, item: Tree): boolean {
  const type = elements.find((each) => each.id === id)?.type?.[0]
  if (type?.code === 'Extension') return item.url === type.profile?.[0]
  const fixedElements = elements.filter((each) => (each.id === id || each.id.startsWith(`${id}.`)) && fixedOrPatternOf(each) !== undefined)
  return (
    fixedElements.length > 0 &&
    fixedElements.every((each) =>
      found(
        item,
        each.id
          .slice(id.length + 1)
          .split('.')
          .filter(Boolean),
      ).some((value) => fits(fixedOrPatternOf(each), value)),
    )
  )
}

/** Its fixed value or pattern. */
export const fixedOrPatternOf = (element: Tree): unknown =>
  Object.entries(element).find(([key]) => /^(?:fixed|pattern)[A-Z]/.test(key))?.[1]

function found(value: unknown, [step, ...rest]: readonly string[]): readonly unknown[] {
  const all = Array.isArray(value) ? value : [value]
  if (step === undefined) return all
  const name = step.split(':')[0]!
  return all.flatMap((each) => {
    const key = name.endsWith('[x]') ? formOf(each, name.slice(0, -3), undefined) : name
    return key === undefined || each?.[key] === undefined ? [] : found(each[key], rest)
  })
}

function fits(pattern: unknown, value: unknown): boolean {
  if (Array.isArray(pattern)) return Array.isArray(value) && pattern.every((each) => value.some((other) => fits(each, other)))
  if (typeof pattern !== 'object' || pattern === null) return pattern === value
  return typeof value === 'object' && value !== null && Object.entries(pattern).every(([key, each]) => fits(each, (value as Tree)[key]))
}

/** The types R4 allows where a profile allows fewer. `id`: of an element of the resource itself. */
export const formsInR4 = (type: string, stem: string) =>
  [...membersAt(type).values()].filter(({ definition }) => definition.path.endsWith(`.${stem}[x]`))
