/** Which elements _summary=true keeps. https://hl7.org/fhir/R4/search.html#summary */
import type { ElementDefinition, StructureDefinition } from './hl7.ts'
import { nameOf, parentsOf, typeName } from './shapes.ts'

/**
 * Of each type: `summary`, the members that are kept, those too that must be there: whole (true), or what the named type or backbone
 * element keeps of them;
 * `mandatory` (resources only), the members that must be there, which _elements and _summary=text never leave out, and
 * `choices`, of which element each form is one, as multipleBirth of multipleBirthInteger.
 */
type Summary = {
  readonly summary: Readonly<Record<string, true | string>>
  readonly mandatory?: readonly string[]
  readonly choices?: Readonly<Record<string, string>>
}

export function summaries(types: readonly StructureDefinition[]): Readonly<Record<string, Summary>> {
  const complex = types.filter((type) => type.kind !== 'primitive-type')
  const kept = new Map(complex.flatMap((type) => [...parentsOf(type)].map((path) => [path, childrenOf(type, path)] as const)))
  const roots = new Set(complex.filter((type) => type.kind === 'resource').map((type) => type.type))
  const whole = wholeTypes(kept, roots)
  const entries = [...kept]
    .filter(([path]) => !whole.has(path))
    .map(([path, children]) => [path, summaryOf(children, whole, roots.has(path))] as const)
  return reachable(new Map(entries), roots)
}

type Child = {
  readonly key: string
  readonly type: string
  readonly kept: boolean
  readonly mandatory: boolean
  readonly choice: string | undefined
}

function childrenOf(type: StructureDefinition, parent: string): readonly Child[] {
  const parents = parentsOf(type)
  const below = type.snapshot!.element.filter(
    ({ path, max }) => path.slice(0, Math.max(path.lastIndexOf('.'), 0)) === parent && parent !== '' && max !== '0',
  )
  return below.flatMap((element) => {
    const [kept, mandatory] = [element.isSummary === true, element.min > 0]
    const choice = element.path.endsWith('[x]') ? nameOf(element.path).slice(0, -3) : undefined
    return namesOf(element, parents).map(([key, of]) => ({ key, type: of, kept, mandatory, choice }))
  })
}

function namesOf(
  { path, contentReference, type = [] }: ElementDefinition,
  parents: ReadonlySet<string>,
): readonly (readonly [string, string])[] {
  const name = nameOf(path)
  if (contentReference !== undefined) return [[name, contentReference.slice(1)]]
  if (parents.has(path)) return [[name, path]]
  const names = type.map(typeName)
  if (!name.endsWith('[x]')) return [[name, names[0]!]]
  return names.map((one) => [name.slice(0, -3) + one[0]!.toUpperCase() + one.slice(1), one])
}

/** Every element carries these, and a data type that keeps all the others is kept with them. */
const CARRIED: ReadonlySet<string> = new Set(['id', 'extension', 'modifierExtension'])

/** The types _summary leaves as they are: nothing in them, at any depth, is left out. */
function wholeTypes(kept: ReadonlyMap<string, readonly Child[]>, roots: ReadonlySet<string>): ReadonlySet<string> {
  const whole = new Set(
    [...kept.keys()].filter((path) => !roots.has(path) && kept.get(path)!.every((child) => child.kept || CARRIED.has(child.key))),
  )
  for (let before = -1; before !== whole.size; ) {
    before = whole.size
    for (const path of whole) {
      const partial = kept.get(path)!.some(({ key, type }) => !CARRIED.has(key) && kept.has(type) && !whole.has(type))
      if (partial) whole.delete(path)
    }
  }
  return whole
}

function summaryOf(children: readonly Child[], whole: ReadonlySet<string>, isResource: boolean): Summary {
  const shown = children.filter(({ key, kept, mandatory }) => kept || mandatory || (!isResource && CARRIED.has(key)))
  const summary = Object.fromEntries(
    shown.map(({ key, type, kept }) => [
      key,
      !kept || CARRIED.has(key) || whole.has(type) || /^[a-z]/.test(type) || type === 'Resource' ? (true as const) : type,
    ]),
  )
  const mandatory = children.filter((child) => child.mandatory).map(({ key }) => key)
  const choices = Object.fromEntries(children.flatMap(({ key, choice }) => (choice === undefined ? [] : [[key, choice]])))
  return isResource ? { summary, mandatory, choices } : { summary }
}

function reachable(all: ReadonlyMap<string, Summary>, roots: ReadonlySet<string>): Readonly<Record<string, Summary>> {
  const needed = new Set(roots)
  for (const path of needed) for (const type of Object.values(all.get(path)?.summary ?? {})) if (typeof type === 'string') needed.add(type)
  return Object.fromEntries([...all].filter(([path]) => needed.has(path)))
}
