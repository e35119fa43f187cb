/** Generates the list of elements that _summary=true includes. https://hl7.org/fhir/R4/search.html#summary */
import type { ElementDefinition, StructureDefinition } from './hl7.ts'
import { elementNameOf, parentsOf, typeNameOf } from './shapes.ts'

/**
 * Names of a type's members, as texts, which are a third as long as JSON.
 * `summary`: members in the summary. They are included whole (`status`), or reduced to the summary of the named type or backbone element
 * (`content:DocumentReference.content`). Those with `!` are mandatory in a resource: _elements and _summary=text never omit them.
 * `choices`: elements with their forms (`multipleBirth:Boolean,Integer`). `others`: members in none of these, nor in every resource.
 */
type Summary = { readonly summary: string; readonly choices?: string; readonly others?: string }

/** Summary in the form that this file works with. */
type Own = Omit<Summary, 'summary'> & { readonly summary: Readonly<Record<string, true | string>>; readonly mandatory: ReadonlySet<string> }

export function generateSummaries(types: readonly StructureDefinition[]): Readonly<Record<string, Summary>> {
  const complex = types.filter((type) => type.kind !== 'primitive-type')
  const elements = new Map(complex.flatMap((type) => [...parentsOf(type)].map((path) => [path, childrenOf(type, path)] as const)))
  const roots = new Set(complex.filter((type) => type.kind === 'resource').map((type) => type.type))
  const whole = wholeTypes(elements, roots)
  const entries = [...elements]
    .filter(([path]) => !whole.has(path))
    .map(([path, children]) => [path, summaryOf(children, whole, roots.has(path))] as const)
  return reachable(new Map(entries), roots)
}

type Child = {
  readonly key: string
  readonly type: string
  readonly isSummary: boolean
  readonly mandatory: boolean
  readonly choice: string | undefined
}

function childrenOf(type: StructureDefinition, parent: string): readonly Child[] {
  const parents = parentsOf(type)
  const below = type.snapshot!.element.filter(
    ({ path, max }) => path.slice(0, Math.max(path.lastIndexOf('.'), 0)) === parent && parent !== '' && max !== '0',
  )
  return below.flatMap((element) => {
    const [isSummary, mandatory] = [element.isSummary === true, element.min > 0]
    const choice = element.path.endsWith('[x]') ? elementNameOf(element.path).slice(0, -3) : undefined
    return namesOf(element, parents).map(([key, type]) => ({ key, type, isSummary, mandatory, choice }))
  })
}

function namesOf(
  { path, contentReference, type = [] }: ElementDefinition,
  parents: ReadonlySet<string>,
): readonly (readonly [string, string])[] {
  const name = elementNameOf(path)
  if (contentReference !== undefined) return [[name, contentReference.slice(1)]]
  if (parents.has(path)) return [[name, path]]
  const names = type.map(typeNameOf)
  if (!name.endsWith('[x]')) return [[name, names[0]!]]
  return names.map((one) => [name.slice(0, -3) + one[0]!.toUpperCase() + one.slice(1), one])
}

/** Members of every element. If the summary includes all other members of a data type, it includes these, too. */
const CARRIED: ReadonlySet<string> = new Set(['id', 'extension', 'modifierExtension'])

/** Members that the summary of every resource includes. */
const IN_EVERY_SUMMARY: ReadonlySet<string> = new Set(['id', 'meta', 'implicitRules'])

/** Other members that resources of any type have. https://hl7.org/fhir/R4/domainresource.html */
const COMMON_ELEMENTS: ReadonlySet<string> = new Set(['language', 'text', 'contained', 'extension', 'modifierExtension'])

/** Returns the types that _summary leaves complete: it omits none of their elements at any depth. */
function wholeTypes(isSummary: ReadonlyMap<string, readonly Child[]>, roots: ReadonlySet<string>): ReadonlySet<string> {
  const whole = new Set(
    [...isSummary.keys()].filter(
      (path) => !roots.has(path) && isSummary.get(path)!.every((child) => child.isSummary || CARRIED.has(child.key)),
    ),
  )
  for (let before = -1; before !== whole.size; ) {
    before = whole.size
    for (const path of whole) {
      const partial = isSummary.get(path)!.some(({ key, type }) => !CARRIED.has(key) && isSummary.has(type) && !whole.has(type))
      if (partial) whole.delete(path)
    }
  }
  return whole
}

function summaryOf(children: readonly Child[], whole: ReadonlySet<string>, isResource: boolean): Own {
  const written = children.filter(({ key, isSummary, mandatory }) => isSummary || mandatory || (!isResource && CARRIED.has(key)))
  const summary = Object.fromEntries(
    written.map(({ key, type, isSummary }) => [
      key,
      !isSummary || CARRIED.has(key) || whole.has(type) || /^[a-z]/.test(type) || type === 'Resource' ? (true as const) : type,
    ]),
  )
  if (!isResource) return { summary, mandatory: new Set() }
  const mandatory = new Set(children.filter((child) => child.mandatory).map(({ key }) => key))
  const forms = Map.groupBy(
    children.filter(({ choice }) => choice !== undefined),
    ({ choice = '' }) => choice,
  )
  const choices = [...forms].map(([choice, keys]) => `${choice}:${keys.map(({ key }) => key.slice(choice.length)).join(',')}`)
  const others = children.filter((child) => !written.includes(child) && child.choice === undefined && !COMMON_ELEMENTS.has(child.key))
  return {
    ...{ summary, mandatory, others: others.map(({ key }) => key).join(' ') },
    ...(choices.length === 0 ? {} : { choices: choices.join(' ') }),
  }
}

function reachable(all: ReadonlyMap<string, Own>, roots: ReadonlySet<string>): Readonly<Record<string, Summary>> {
  const needed = new Set(roots)
  for (const path of needed) for (const type of Object.values(all.get(path)?.summary ?? {})) if (typeof type === 'string') needed.add(type)
  const texts = ([path, own]: readonly [string, Own]) => [path, textsOf(own, roots.has(path))] as const
  return Object.fromEntries([...all].filter(([path]) => needed.has(path)).map(texts))
}

function textsOf({ summary, mandatory, ...others }: Own, isResource: boolean): Summary {
  const words = Object.entries(summary)
    .filter(([key]) => !isResource || !IN_EVERY_SUMMARY.has(key))
    .map(([key, isSummary]) => `${mandatory.has(key) ? '!' : ''}${key}${isSummary === true ? '' : `:${isSummary}`}`)
  return { summary: words.join(' '), ...others }
}
