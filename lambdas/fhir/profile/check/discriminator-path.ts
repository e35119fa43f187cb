/** Steps of a discriminator's path, and its targets in an item. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { targetTypeOf } from '../../path/reference-type.ts'
import { spendWork } from '../../path/work-budget.ts'
import { isElement } from '../../resource.ts'
import { type CheckContext, typeOfItem } from '../check-context.ts'
import { type Item, itemOf, itemsOf } from '../items.ts'
import { elementsOf, typeOfElement } from '../type-elements.ts'
import { resolveReference } from './reference-target.ts'

/** Elements that the path of a discriminator leads to in an item. */
export type PathTarget = {
  readonly items: readonly Item[]
  readonly type: string
  /** Whether the last step was resolve(), so that the items are targets of references. */
  readonly isResolved: boolean
  /** Placeholders for targets that are not available. They are among the items if their type is known. */
  readonly stubs: ReadonlySet<unknown>
  /** Whether targets that are not available may have further items. */
  readonly isIncomplete: boolean
}

/** A step of a path: the name of an element, or a function (`call`) with its argument (`name`). */
export type DiscriminatorStep = { readonly call?: string; readonly name: string }

const NONE: ReadonlySet<unknown> = new Set()

export function followPath(path: string, item: Item, type: string, check: CheckContext): PathTarget {
  const target: PathTarget = { items: [item], type, isResolved: false, stubs: NONE, isIncomplete: false }
  return stepsOf(path).reduce<PathTarget>((found, step) => onward(found, step, check), target)
}

const STEPS = new Map<string, readonly DiscriminatorStep[]>()
const MAX_PATHS = 1_000

/** Returns the steps of a path. `$this` is no step. Caches them, because the paths of profiles are few and used often. */
export function stepsOf(path: string): readonly DiscriminatorStep[] {
  const cached = STEPS.get(path)
  if (cached !== undefined) return cached
  const steps = (path.match(/\w+\('[^']*'\)|\w+\([^)]*\)|\$this|[^.]+/g) ?? []).filter((step) => step !== '$this').map(stepOf)
  if (STEPS.size >= MAX_PATHS) STEPS.clear()
  STEPS.set(path, steps)
  return steps
}

const CALLS: ReadonlySet<string> = new Set(['resolve', 'extension', 'ofType', 'as'])

function stepOf(text: string): DiscriminatorStep {
  const [, call = '', argument = ''] = /^(\w+)\('?([^')]*)'?\)$/.exec(text) ?? []
  return CALLS.has(call) ? { call, name: argument } : { name: text }
}

function onward(found: PathTarget, { call, name }: DiscriminatorStep, check: CheckContext): PathTarget {
  spendWork(check.work, 1 + found.items.length)
  if (call === 'resolve') return resolvedFrom(found, check)
  if (call === 'extension') return extensionsOf(found, name)
  if (call !== undefined) return ofType(found, name)
  const [only] = found.items
  const items = found.items.length === 1 ? itemsNamed(only!, name) : found.items.flatMap((item) => itemsNamed(item, name))
  const isIncomplete = found.isIncomplete || (found.stubs.size > 0 && name !== 'resourceType')
  return { items, type: typeOfElement(typeIn(found), name), isResolved: false, stubs: NONE, isIncomplete }
}

function itemsNamed(item: Item, name: string): readonly Item[] {
  const plain = itemsOf(item, name, false)
  return plain.length > 0 ? plain : itemsOf(item, name, true)
}

/** Returns the type of the items. If their types differ, returns that of the first item. */
const typeIn = ({ items: [first], type }: PathTarget): string => (first === undefined ? type : typeOfItem(first, first.type ?? type))

const ofType = (found: PathTarget, type: string): PathTarget => ({
  ...found,
  items: found.items.filter((item) => item.type === type || typeOfItem(item, found.type) === type),
  type,
})

function resolvedFrom(found: PathTarget, check: CheckContext): PathTarget {
  const stubs = new Set<unknown>()
  let { isIncomplete } = found
  const items = found.items.flatMap(({ value }) => {
    if (!isElement(value)) return []
    const target = resolveReference(value, check)
    if (target !== undefined) return [itemOf(target)]
    // Use the type that the reference names, because the target is not available.
    const stub = { resourceType: targetTypeOf(value, check.owner) }
    isIncomplete ||= stub.resourceType === undefined && (value.reference !== undefined || value.identifier !== undefined)
    stubs.add(stub)
    return stub.resourceType === undefined ? [] : [itemOf(stub)]
  })
  return { items, type: found.type, isResolved: true, stubs, isIncomplete }
}

const extensionsOf = (found: PathTarget, url: string): PathTarget => ({
  ...found,
  items: found.items.flatMap((item) => itemsOf(item, 'extension', false)).filter(({ value }) => isElement(value) && value.url === url),
  type: 'Extension',
})

/** Returns the suffix that a type has in the name of a choice: `Quantity`, as in `valueQuantity`. Empty if no choice has that type. */
export function choiceSuffixOf(type: string): string {
  const [form = ''] = Object.entries(elementsOf('Extension')).find(([, shape]) => shape.type === type) ?? []
  return form.slice('value'.length)
}
