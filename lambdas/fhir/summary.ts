/**
 * Parts of a resource for _summary and _elements. https://hl7.org/fhir/R4/search.html#summary, https://hl7.org/fhir/R4/search.html#elements
 */
import summaries from './definitions/summaries.json' with { type: 'json' }
import { type Element, isElement, type Resource } from './resource.ts'

/** Rule for an included element. `true`: all its content is included. A text names the definition that selects its content. */
type Inclusion = true | string
type Definition = {
  readonly summary: ReadonlyMap<string, Inclusion>
  readonly mandatory: ReadonlySet<string>
  /** Name of the choice by each of its forms, such as `value` by `valueString`. */
  readonly choices: ReadonlyMap<string, string>
  /** Elements of the resource that are not in `summary` or `choices` and that not every resource has. */
  readonly others: ReadonlySet<string>
}

/**
 * Definitions as search-mappings/generate/summaries.ts writes them: words separated by spaces. Only resources have `choices` and `others`.
 */
type Texts = { readonly summary: string; readonly choices?: string; readonly others?: string }

const TEXTS: Readonly<Record<string, Texts>> = summaries
const cache = new Map<string, Definition>()

/** Tag that marks an incomplete resource for clients. https://hl7.org/fhir/R4/codesystem-v3-ObservationValue.html */
export const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }

/**
 * Returns a part of the resource, tagged SUBSETTED. `true`: summary elements and mandatory elements. `text`: narrative and mandatory
 * elements. `data`: all but the narrative.
 */
export function selectSummary(resource: Resource, summary: 'true' | 'text' | 'data'): Resource {
  const { summary: own, mandatory } = definitionOf(resource.resourceType)
  switch (summary) {
    case 'true':
      return subsetted(resource, (name) => own.get(name))
    case 'text':
      return subsetted(resource, (name) => (name === 'text' || mandatory.has(name) ? true : undefined))
    case 'data':
      return subsetted(resource, (name) => (name === 'text' ? undefined : true))
  }
}

/**
 * Returns the named root elements (`name` or `Patient.name`) and the mandatory elements, tagged SUBSETTED. `value` and `value[x]` select
 * each form of value[x].
 */
export function selectElements(resource: Resource, elements: readonly string[]): Resource {
  const { resourceType } = resource
  const { mandatory, choices } = definitionOf(resourceType)
  const own = elements.map(parseSelection).flatMap(({ type, name }) => (type === undefined || type === resourceType ? [name] : []))
  // The resource stays whole if no name applies to its type.
  if (own.length === 0) return resource
  const selected = new Set([...own, ...mandatory])
  return subsetted(resource, (name) => (selected.has(name) || selected.has(choices.get(name) ?? name) ? true : undefined))
}

/**
 * Whether a name is a root element. `element`: name, optionally with a type: `name` or `Patient.name`. `type`: type that must have the
 * element; absent: any type.
 */
export function isRootElement(element: string, type?: string): boolean {
  const selection = parseSelection(element)
  const resourceType = selection.type ?? type
  if (resourceType !== undefined) return (type === undefined || resourceType === type) && isElementOf(resourceType, selection.name)
  return Object.keys(TEXTS).some((each) => isElementOf(each, selection.name))
}

function isElementOf(type: string, name: string): boolean {
  if (TEXTS[type]?.others === undefined) return false
  const { summary, choices, others } = definitionOf(type)
  const isOwn = summary.has(name) || choices.has(name) || others.has(name) || [...choices.values()].includes(name)
  return isOwn || ALWAYS.has(name) || COMMON_ELEMENTS.has(name)
}

/** Elements of every DomainResource, besides those of every resource. https://hl7.org/fhir/R4/domainresource.html */
const COMMON_ELEMENTS: ReadonlySet<string> = new Set(['language', 'text', 'contained', 'extension', 'modifierExtension'])

function parseSelection(element: string): { readonly type?: string; readonly name: string } {
  const [first = '', second] = element.replace(/\[x\]$/, '').split('.', 2)
  return second === undefined ? { name: first } : { type: first, name: second }
}

function definitionOf(type: string): Definition {
  const definition = cache.get(type) ?? parsed(type)
  cache.set(type, definition)
  return definition
}

function parsed(type: string): Definition {
  const { summary, choices = '', others } = Object.hasOwn(TEXTS, type) ? TEXTS[type]! : NONE
  const words = wordsOf(summary)
  const mandatory = words.filter((word) => word.startsWith('!')).map((word) => parseWord(word)[0])
  return {
    summary: new Map([...words.map(parseWord), ...(others === undefined ? [] : [IMPLICIT_RULES])]),
    // Include `implementation`, which rule cpb-14 requires if the statement is about an instance.
    // https://hl7.org/fhir/R4/capabilitystatement.html
    mandatory: new Set([...mandatory, ...(type === 'CapabilityStatement' ? ['implementation'] : [])]),
    choices: new Map(wordsOf(choices).flatMap(formsOf)),
    others: new Set(wordsOf(others)),
  }
}

const NONE: Texts = { summary: '' }
/** Element in the summary of every resource, in addition to `ALWAYS`. */
const IMPLICIT_RULES: [string, Inclusion] = ['implicitRules', true]

const wordsOf = (text = ''): readonly string[] => (text === '' ? [] : text.split(' '))

/**
 * Parses an element: `status`, or `!content:DocumentReference.content`. `!` marks a mandatory element. The definition for its content
 * follows the colon.
 */
function parseWord(word: string): [string, Inclusion] {
  const [name = '', definition = true] = word.replace('!', '').split(':', 2)
  return [name, definition]
}

/** Parses a choice: `value:Quantity,String`. Returns each form with the choice: `valueQuantity`, `value`. */
function formsOf(word: string): readonly [string, string][] {
  const [choice = '', forms = ''] = word.split(':', 2)
  return forms.split(',').map((form) => [`${choice}${form}`, choice])
}

const ALWAYS = new Set(['resourceType', 'id', 'meta'])

function subsetted(resource: Resource, keep: (name: string) => Inclusion | undefined): Resource {
  const meta = resource.meta ?? {}
  const tag = Array.isArray(meta.tag) ? meta.tag : []
  const result = reduced(resource, (name) => (ALWAYS.has(name) ? true : keep(name)))
  const contained = 'contained' in result ? {} : containedOf(result, resource.contained)
  return { ...result, ...contained, resourceType: resource.resourceType, meta: { ...meta, tag: [...tag, SUBSETTED] } }
}

/**
 * Returns a member `contained` with the contained resources that the included elements refer to, directly or through others. Returns an
 * empty object if there are none. https://hl7.org/fhir/R4/references.html#contained
 */
export function containedOf(result: Element, contained: unknown): Element {
  if (!Array.isArray(contained)) return {}
  const referred = new Set(fragmentsIn(result))
  const isReferred = ({ id }: Element): boolean => referred.has(`#${id}`)
  for (let before = -1; before !== referred.size; ) {
    before = referred.size
    for (const fragment of fragmentsIn(contained.filter(isReferred))) referred.add(fragment)
  }
  const included = contained.filter(isReferred)
  return included.length === 0 ? {} : { contained: included }
}

/** Yields each text that begins with `#`, as references and canonicals of contained resources do. */
function* fragmentsIn(value: unknown): Generator<string, void> {
  if (typeof value === 'string' && value.startsWith('#')) yield value
  else if (Array.isArray(value)) for (const item of value) yield* fragmentsIn(item)
  else if (isElement(value)) for (const member of Object.values(value)) yield* fragmentsIn(member)
}

function reduced(element: Element, keep: (name: string) => Inclusion | undefined): Element {
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(element)) {
    const inclusion = keep(name.replace(/^_/, ''))
    const part =
      inclusion === undefined || inclusion === true ? value : Array.isArray(value) ? partsOf(value, inclusion) : below(value, inclusion)
    if (inclusion !== undefined && !isEmpty(part)) result[name] = part
  }
  return result
}

const partsOf = (items: readonly unknown[], definition: string): readonly unknown[] =>
  items.map((item) => below(item, definition)).filter((part) => !isEmpty(part))

/** Whether a value is an empty object or list. FHIR has no empty elements. https://hl7.org/fhir/R4/element.html#Element (ele-1) */
const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isElement(value) && Object.keys(value).length === 0

const below = (value: unknown, definition: string): unknown => {
  if (!isElement(value)) return value
  const { summary } = definitionOf(definition)
  return reduced(value, (name) => summary.get(name))
}
