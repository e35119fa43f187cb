/** A part of a resource: _summary and _elements. https://hl7.org/fhir/R4/search.html#summary, https://hl7.org/fhir/R4/search.html#elements */
import summaries from './definitions/summaries.json' with { type: 'json' }
import { type Element, isElement, type Resource } from './resource.ts'

/** Summary elements by name; `true`: with everything below; a text names the definition for what is below. */
type Kept = true | string
type Definition = {
  readonly summary: Readonly<Record<string, Kept>>
  readonly mandatory: readonly string[]
  /** Of which element each form of a choice is one. */
  readonly choices: Readonly<Record<string, string>>
}

const DEFINITIONS = summaries as unknown as Readonly<Record<string, Definition>>

/** Tells clients that this is not the whole resource. https://hl7.org/fhir/R4/codesystem-v3-ObservationValue.html */
const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }

/** `true`: the summary elements, and what must be there; `text`: narrative and what must be there; `data`: all but the narrative. */
export function summaryOnly(resource: Resource, summary: 'true' | 'text' | 'data'): Resource {
  const { summary: own, mandatory } = definitionOf(resource.resourceType)
  switch (summary) {
    case 'true':
      return subsetted(resource, (name) => own[name])
    case 'text':
      return subsetted(resource, (name) => (name === 'text' || mandatory.includes(name) ? true : undefined))
    case 'data':
      return subsetted(resource, (name) => (name === 'text' ? undefined : true))
  }
}

/** Root elements by name (`name` or `Patient.name`), and those that must be there; `value`, or `value[x]`, is each form of value[x]. */
export function elementsOnly(resource: Resource, elements: readonly string[]): Resource {
  const { resourceType } = resource
  const { mandatory, choices } = definitionOf(resourceType)
  const own = elements.flatMap((element) => {
    const [first, second] = element.replace(/\[x\]$/, '').split('.', 2)
    return second === undefined ? [first] : first === resourceType ? [second] : []
  })
  // For resources of other types nothing was asked for: they stay whole.
  if (own.length === 0) return resource
  const wanted = new Set([...own, ...mandatory])
  return subsetted(resource, (name) => (wanted.has(name) || wanted.has(choices[name]) ? true : undefined))
}

/** With what must be there by a rule of its own (cpb-14): https://hl7.org/fhir/R4/capabilitystatement.html */
function definitionOf(type: string): Definition {
  const definition = DEFINITIONS[type] ?? NONE
  return type === 'CapabilityStatement' ? { ...definition, mandatory: [...definition.mandatory, 'implementation'] } : definition
}

const NONE: Definition = { summary: {}, mandatory: [], choices: {} }

const ALWAYS = new Set(['resourceType', 'id', 'meta'])

function subsetted(resource: Resource, keep: (name: string) => Kept | undefined): Resource {
  const meta = resource.meta ?? {}
  const tag = Array.isArray(meta.tag) ? meta.tag : []
  const kept = keptOf(resource, (name) => (ALWAYS.has(name) ? true : keep(name)))
  const contained = 'contained' in kept ? {} : containedOf(kept, resource.contained)
  return { ...kept, ...contained, resourceType: resource.resourceType, meta: { ...meta, tag: [...tag, SUBSETTED] } }
}

/** Those of the contained resources that what is kept refers to, and those they refer to. https://hl7.org/fhir/R4/references.html#contained */
function containedOf(kept: Element, contained: unknown): Element {
  if (!Array.isArray(contained)) return {}
  const referred = new Set(fragmentsIn(kept))
  const isReferred = ({ id }: Element): boolean => referred.has(`#${id}`)
  for (let before = -1; before !== referred.size; ) {
    before = referred.size
    for (const fragment of fragmentsIn(contained.filter(isReferred))) referred.add(fragment)
  }
  const some = contained.filter(isReferred)
  return some.length === 0 ? {} : { contained: some }
}

/** What refers to a contained resource: a reference, or a canonical. */
function* fragmentsIn(value: unknown): Generator<string, void> {
  if (typeof value === 'string' && value.startsWith('#')) yield value
  else if (Array.isArray(value)) for (const item of value) yield* fragmentsIn(item)
  else if (isElement(value)) for (const member of Object.values(value)) yield* fragmentsIn(member)
}

function keptOf(element: Element, keep: (name: string) => Kept | undefined): Element {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(element)) {
    const what = keep(name.replace(/^_/, ''))
    const part = what === undefined || what === true ? value : Array.isArray(value) ? partsOf(value, what) : below(value, what)
    if (what !== undefined && !isEmpty(part)) kept[name] = part
  }
  return kept
}

const partsOf = (items: readonly unknown[], definition: string): readonly unknown[] =>
  items.map((item) => below(item, definition)).filter((part) => !isEmpty(part))

/** What nothing is left of is left out. https://hl7.org/fhir/R4/element.html#Element (ele-1) */
const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isElement(value) && Object.keys(value).length === 0

const below = (value: unknown, definition: string): unknown => {
  const { summary } = DEFINITIONS[definition] ?? NONE
  return isElement(value) ? keptOf(value, (name) => summary[name]) : value
}
