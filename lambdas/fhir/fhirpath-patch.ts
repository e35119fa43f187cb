/** FHIRPath Patch on a resource. https://hl7.org/fhir/R4/fhirpatch.html */
import { checkDepth, copyBounded } from './bounded-copy.ts'
import { MAX_JSON_DEPTH } from './json.ts'
import { type FhirError, fhirError } from './outcome.ts'
import type { ElementList, ElementLocation, jsonMembersOf } from './path/element-location.ts'
import { UnsupportedExpression } from './path/tokens.ts'
import type { WorkBudget } from './path/work-budget.ts'
import { type Element, isElement, type Resource } from './resource.ts'

type Paths = {
  readonly locations: (path: string) => readonly ElementLocation[]
  readonly lists: (path: string) => readonly ElementList[]
  readonly membersNamed: typeof jsonMembersOf
  readonly copied: (value: unknown) => unknown
}

/**
 * Returns a function that applies the patch to a resource, which it changes. The function throws FhirError 400 for a malformed operation
 * and 422 for one that does not apply, with its location. It throws FhirError 422 without location if elements nest too deep. It throws
 * TooCostly if the patch exceeds the work budget.
 */
export async function compileFhirPathPatch(
  operations: readonly FhirPathPatchOperation[],
): Promise<(resource: Resource, work: WorkBudget) => Resource> {
  const { locateElements: locate, locateLists, jsonMembersOf: membersNamed } = await import('./path/element-location.ts')
  return (resource, work) => {
    const paths: Paths = {
      locations: (path) => locate(path, resource, work),
      lists: (path) => locateLists(path, resource, work),
      membersNamed,
      // Copy the value: later operations may change it, and after a concurrent write the patch is applied again.
      copied: (value) => copyBounded(value, MAX_JSON_DEPTH, work),
    }
    for (const operation of operations) apply(paths, operation)
    checkDepth(resource, MAX_JSON_DEPTH)
    return resource
  }
}

/** Parts of an operation by name. The part `value` holds value[x], a resource or nested parts. Other parts hold value[x]. */
type Parts = ReadonlyMap<string, Element>

/** Operation of a patch. `at`: its location in the patch, for errors. */
export type FhirPathPatchOperation = { readonly type: string; readonly path: string; readonly parts: Parts; readonly at: string }

/** Parses the operations of a patch, without a resource. Throws FhirError 400 with the location of a malformed operation. */
export function readFhirPathPatch({ parameter }: Element): readonly FhirPathPatchOperation[] {
  if (parameter === undefined) return []
  if (!Array.isArray(parameter)) throw fhirError(400, 'structure', 'The operations of a FHIRPath Patch are a list', 'Parameters.parameter')
  return parameter.map((each: unknown, i) => {
    const at = `Parameters.parameter[${i}]`
    if (!isElement(each) || each.name !== 'operation' || !Array.isArray(each.part))
      throw fhirError(400, 'structure', 'The parameters of a FHIRPath Patch are operations with parts', at)
    const parts = new Map(each.part.filter(isElement).map((part) => [nameOf(part, at), part]))
    return { path: text(parts, 'path', at), type: text(parts, 'type', at), parts, at }
  })
}

function nameOf({ name }: Element, at: string): string {
  if (typeof name !== 'string') throw fhirError(400, 'structure', 'The name of a part is a string', at)
  return name
}

function apply(paths: Paths, { type, path, parts, at }: FhirPathPatchOperation): void {
  switch (type) {
    case 'add':
      return add(paths, only(locationsOf(paths, path, at), at), parts, at)
    case 'insert':
      return insert(paths, only(listsOf(paths, path, at), at), parts, at)
    case 'delete':
      return remove(locationsOf(paths, path, at), at)
    case 'replace':
      return replace(paths, only(locationsOf(paths, path, at), at), parts, at)
    case 'move':
      return move(only(listsOf(paths, path, at), at), parts, at)
    default:
      throw fhirError(400, 'value', 'The type of an operation is add, insert, delete, replace or move', at)
  }
}

const locationsOf = ({ locations }: Paths, path: string, at: string): readonly ElementLocation[] => located(() => locations(path), at)
const listsOf = ({ lists }: Paths, path: string, at: string): readonly ElementList[] => located(() => lists(path), at)

function located<T>(locate: () => T, at: string): T {
  try {
    return locate()
  } catch (error) {
    if (!(error instanceof UnsupportedExpression || error instanceof SyntaxError)) throw error
    throw fhirError(400, 'value', 'The path of the operation is not a FHIRPath that leads to an element', at)
  }
}

function only<T>(found: readonly T[], at: string): T {
  const [first, second] = found
  if (first === undefined || second !== undefined)
    throw doesNotApply(`its path leads to ${first === undefined ? 'no element' : 'several elements'}`, at)
  return first
}

function add(paths: Paths, { value, type }: ElementLocation, parts: Parts, at: string): void {
  if (!isElement(value)) throw doesNotApply('its path leads to no element that has elements', at)
  const name = text(parts, 'name', at)
  const addition = valuePart(parts, at)
  const member = memberFor(paths, type, name, addition, at)
  const added = contentOf(paths, addition, member.type, at)
  const holder = value as Record<string, unknown>
  if (member.list) rearrange(holder, member.key, (list, isBeside) => [...list, isBeside ? null : added])
  else holder[member.key] = added
}

function insert(paths: Paths, { type, holder, member }: ElementList, parts: Parts, at: string): void {
  const items = itemsOf(holder, member)
  const index = integer(parts, 'index', at)
  if (index > items.length) throw doesNotApply('its index is beyond the end of the list', at)
  const value = contentOf(paths, valuePart(parts, at), type, at)
  rearrange(holder, member, (list, isBeside) => list.toSpliced(index, 0, isBeside ? null : value))
}

function remove(locations: readonly ElementLocation[], at: string): void {
  if (locations.length === 0) return
  const location = only(locations, at)
  if (location.holder === undefined) throw doesNotApply('a resource cannot be deleted from itself', at)
  removeAt(location)
}

/** Removes an element, and each parent that becomes empty, because FHIR has no empty elements. */
function removeAt({ holder, member, index, parent }: ElementLocation): void {
  if (holder === undefined) return
  if (index === undefined) {
    delete holder[member]
    delete holder[`_${member}`]
  } else rearrange(holder, member, (list) => list.toSpliced(index, 1))
  if (parent !== undefined && Object.keys(holder).length === 0) removeEmpty(parent, holder)
}

/**
 * Removes an empty object at a location. `empty`: the value of the element, or the companion of a primitive, which holds its id and
 * extensions.
 */
function removeEmpty(location: ElementLocation, empty: Record<string, unknown>): void {
  const { holder, member, index, value } = location
  if (value === empty || value === undefined || value === null) removeAt(location)
  else if (index === undefined) delete holder![`_${member}`]
  else rearrange(holder!, member, (list, isBeside) => (isBeside ? list.with(index, null) : list))
}

function replace(paths: Paths, { type, holder, member, index }: ElementLocation, parts: Parts, at: string): void {
  if (holder === undefined) throw doesNotApply('a resource cannot be replaced by itself', at)
  const value = contentOf(paths, valuePart(parts, at), type, at)
  if (index === undefined) holder[member] = value
  else rearrange(holder, member, (list, isBeside) => (isBeside ? list : list.with(index, value)))
}

function move({ holder, member }: ElementList, parts: Parts, at: string): void {
  const items = itemsOf(holder, member)
  const [source, destination] = [integer(parts, 'source', at), integer(parts, 'destination', at)]
  if (source >= items.length || destination >= items.length) throw doesNotApply('source or destination is beyond the end of the list', at)
  rearrange(holder, member, (list) => list.toSpliced(source, 1).toSpliced(destination, 0, list[source]))
}

/**
 * Applies `change` to a list and to its companion list, which holds the ids and extensions of primitives. Both keep the same order and
 * length. Deletes a list that is empty or has only null items. `isBeside`: true for the companion list.
 */
function rearrange(
  holder: Record<string, unknown>,
  member: string,
  change: (list: readonly unknown[], isBeside: boolean) => readonly unknown[],
): void {
  const beside = `_${member}`
  const length = Math.max(itemsOf(holder, member).length, itemsOf(holder, beside).length)
  for (const key of [member, beside]) {
    if (key === beside && holder[key] === undefined) continue
    const items = itemsOf(holder, key)
    const changed = change([...items, ...new Array(length - items.length).fill(null)], key === beside)
    if (changed.every((item) => item === null)) delete holder[key]
    else holder[key] = changed
  }
}

const itemsOf = (holder: Readonly<Record<string, unknown>>, member: string): readonly unknown[] => {
  const items = holder[member]
  return Array.isArray(items) ? items : items === undefined ? [] : [items]
}

/**
 * Returns the JSON member of the element `name`. For a choice, returns the form that matches the type of the value. Throws FhirError 422 if
 * the type has no such element or form.
 */
function memberFor(paths: Paths, type: string, name: string, value: Element, at: string): ReturnType<Paths['membersNamed']>[number] {
  const forms = paths.membersNamed(type, name)
  const kind = valueKey(value)?.slice('value'.length).toLowerCase()
  const member = forms.length === 1 ? forms[0] : forms.find((form) => form.type.toLowerCase() === kind)
  if (member === undefined) throw doesNotApply(`there is no element ${name} of that type in ${type}`, at)
  return member
}

const valueKey = (part: Element): string | undefined => Object.keys(part).find((key) => key.startsWith('value') && key !== 'value')

/**
 * Returns a copy of a value: its value[x], its resource, or an object built from its nested parts. Nested parts describe elements that
 * value[x] cannot hold, such as backbone elements. Throws FhirError 400 if the value has none of these.
 */
function contentOf(paths: Paths, part: Element, type: string, at: string): unknown {
  const key = valueKey(part)
  if (key !== undefined) return paths.copied(part[key])
  if (isElement(part.resource)) return paths.copied(part.resource)
  if (!Array.isArray(part.part)) throw fhirError(400, 'required', 'The value of an operation has a value[x], a resource or parts', at)
  const built: Record<string, unknown> = {}
  for (const each of part.part.filter(isElement)) {
    const member = memberFor(paths, type, nameOf(each, at), each, at)
    const value = contentOf(paths, each, member.type, at)
    built[member.key] = member.list ? [...itemsOf(built, member.key), value] : value
  }
  return built
}

function valuePart(parts: Parts, at: string): Element {
  const part = parts.get('value')
  if (part === undefined) throw fhirError(400, 'required', 'The operation has no value', at)
  return part
}

function text(parts: Parts, name: string, at: string): string {
  const part = parts.get(name)
  const value = part?.valueString ?? part?.valueCode
  if (typeof value !== 'string') throw fhirError(400, 'required', `The operation has no ${name}`, at)
  return value
}

function integer(parts: Parts, name: string, at: string): number {
  const value = parts.get(name)?.valueInteger
  if (typeof value !== 'number' || value < 0) throw fhirError(400, 'required', `The operation has no ${name}, or a negative one`, at)
  return value
}

const doesNotApply = (reason: string, at: string): FhirError => fhirError(422, 'processing', `The operation does not apply: ${reason}`, at)
