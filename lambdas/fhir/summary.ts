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

/** `true`: the summary elements; `text`: narrative and what must be there; `data`: all but the narrative. */
export function summaryOnly(resource: Resource, summary: 'true' | 'text' | 'data'): Resource {
  const { summary: own, mandatory } = DEFINITIONS[resource.resourceType] ?? NONE
  switch (summary) {
    case 'true':
      return subsetted(resource, (name) => own[name])
    case 'text':
      return subsetted(resource, (name) => (name === 'text' || mandatory.includes(name) ? true : undefined))
    case 'data':
      return subsetted(resource, (name) => (name === 'text' ? undefined : true))
  }
}

/** Root elements by name (`name` or `Patient.name`), and those that must be there; `value` is each form of value[x]. */
export function elementsOnly(resource: Resource, elements: readonly string[]): Resource {
  const { resourceType } = resource
  const { mandatory, choices } = DEFINITIONS[resourceType] ?? NONE
  const own = elements.flatMap((element) => {
    const [first, second] = element.split('.', 2)
    return second === undefined ? [first] : first === resourceType ? [second] : []
  })
  // For resources of other types nothing was asked for: they stay whole.
  if (own.length === 0) return resource
  const wanted = new Set([...own, ...mandatory])
  return subsetted(resource, (name) => (wanted.has(name) || wanted.has(choices[name]) ? true : undefined))
}

const NONE: Definition = { summary: {}, mandatory: [], choices: {} }

const ALWAYS = new Set(['resourceType', 'id', 'meta'])

function subsetted(resource: Resource, keep: (name: string) => Kept | undefined): Resource {
  const meta = resource.meta ?? {}
  const tag = Array.isArray(meta.tag) ? meta.tag : []
  const kept = keptOf(resource, (name) => (ALWAYS.has(name) ? true : keep(name)))
  return { ...kept, resourceType: resource.resourceType, meta: { ...meta, tag: [...tag, SUBSETTED] } }
}

function keptOf(element: Element, keep: (name: string) => Kept | undefined): Element {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(element)) {
    const what = keep(name.replace(/^_/, ''))
    if (what === true) kept[name] = value
    else if (what !== undefined) kept[name] = Array.isArray(value) ? value.map((item) => below(item, what)) : below(value, what)
  }
  return kept
}

const below = (value: unknown, definition: string): unknown => {
  const { summary } = DEFINITIONS[definition] ?? NONE
  return isElement(value) ? keptOf(value, (name) => summary[name]) : value
}
