/** Reduces a StructureDefinition to a Profile. https://hl7.org/fhir/R4/structuredefinition.html */
import { type Element, isElement, type Resource } from '../../resource.ts'
import { r4TypeNameOf } from '../canonical.ts'
import type {
  Binding,
  BindingStrength,
  Discriminator,
  ExtensionContext,
  Profile,
  ProfileConstraint,
  ProfileElement,
  ProfileType,
  Slicing,
} from '../definition.ts'

/** A definition that cannot be used. The message says why. */
export class UnusableDefinition extends Error {}

/**
 * Returns the rules of a StructureDefinition. Throws UnusableDefinition if a required part is missing, a limit is exceeded or a
 * discriminator is not in R4. `isKnown`: whether R4 has a constraint with this key; constraints of R4 are left out.
 */
export function reduceProfile(definition: Resource, isKnown: (key: string) => boolean): Profile {
  const { url, version, type, baseDefinition, status } = definition
  if (typeof url !== 'string' || typeof type !== 'string') throw new UnusableDefinition('It has no url or type')
  const whole = elementsOf(definition.snapshot)
  const isR4s: IsKnown = (key, source) => isKnown(key) && isSourceR4(source, whole !== undefined)
  const elements = whole ?? elementsOf(definition.differential)
  if (elements === undefined) throw new UnusableDefinition('It has neither a snapshot nor a differential')
  if (whole === undefined && typeof baseDefinition !== 'string') throw new UnusableDefinition('It has a differential and no baseDefinition')
  return {
    url,
    ...(typeof version === 'string' ? { version } : {}),
    type,
    ...(typeof baseDefinition === 'string' ? { base: baseDefinition } : {}),
    ...(status === 'retired' ? { isRetired: true as const } : {}),
    isWhole: whole !== undefined,
    elements: reduceElements(elements, isR4s).filter((element) => Object.keys(element).length > 1),
    ...(type === 'Extension' ? extensionRules(definition, elements) : {}),
  }
}

type IsKnown = (key: string, source: unknown) => boolean

/**
 * Whether a constraint whose key R4 has is that of R4. Keys are unique only within a profile, so the source decides. A constraint without
 * source is R4's in a snapshot, which repeats the constraints of R4. In a differential it is not.
 */
function isSourceR4(source: unknown, isWhole: boolean): boolean {
  if (typeof source !== 'string') return isWhole
  return source.startsWith('http://hl7.org/fhir/StructureDefinition/') || !source.includes(':')
}

/** Maximum levels of elements and of slices in slices. Deeper definitions are unusable; real ones are not nested so deep. */
const DEEPEST = 64
const STEPS = /[./]/
/** Maximum elements of a definition. Larger ones are unusable; the largest real profiles have some thousand. */
const MAX_ELEMENTS = 30_000

/** Reduces the elements and completes their ids. An element without an id is part of the last slice before it at its parent's path. */
function reduceElements(elements: readonly Element[], isKnown: IsKnown): readonly ProfileElement[] {
  if (elements.length > MAX_ELEMENTS) throw new UnusableDefinition(`It has more than ${MAX_ELEMENTS} elements`)
  const last = new Map<string, string>()
  return elements.map((element) => {
    const path = String(element.path)
    const dot = path.lastIndexOf('.')
    const above = last.get(path.slice(0, Math.max(dot, 0)))
    const id = typeof element.id === 'string' ? element.id : above === undefined ? path : `${above}${path.slice(dot)}`
    const name = typeof element.sliceName === 'string' && !id.slice(id.lastIndexOf('.') + 1).includes(':') ? `:${element.sliceName}` : ''
    if ([path, `${id}${name}`].some((each) => each.split(STEPS, DEEPEST + 1).length > DEEPEST))
      throw new UnusableDefinition('Its elements are nested too deep')
    last.set(path, `${id}${name}`)
    return slimElement(element, `${id}${name}`, isKnown)
  })
}

const elementsOf = (part: unknown): readonly Element[] | undefined => {
  const found = isElement(part) && Array.isArray(part.element) ? part.element.filter(isElement) : []
  return found.length === 0 ? undefined : found
}

function extensionRules(
  { context, contextInvariant }: Resource,
  [root]: readonly Element[],
): Pick<Profile, 'contexts' | 'isModifier' | 'contextInvariants'> {
  return {
    ...listed<ExtensionContext>(
      'contexts',
      elementsIn(context).map(({ type, expression }) => ({ type: String(type), expression: String(expression) })),
    ),
    ...listed('contextInvariants', textsIn(contextInvariant)),
    ...(root?.isModifier === true ? { isModifier: true as const } : {}),
  }
}

function slimElement(element: Element, id: string, isKnown: IsKnown): ProfileElement {
  const { min, max, maxLength, contentReference } = element
  const regex = regexOf(element)
  return {
    id,
    ...(typeof min === 'number' ? { min } : {}),
    ...(typeof max === 'string' && /^(\*|\d+)$/.test(max) ? { max: max === '*' ? max : Number(max) } : {}),
    ...listed<ProfileType>('types', elementsIn(element.type).map(slimType)),
    ...choiceRule(element, 'fixed'),
    ...choiceRule(element, 'pattern'),
    ...choiceRule(element, 'minValue'),
    ...choiceRule(element, 'maxValue'),
    ...(typeof maxLength === 'number' ? { maxLength } : {}),
    ...(regex === undefined ? {} : { regex }),
    ...present('binding', bindingOf(element.binding)),
    ...present('slicing', slicingOf(element.slicing)),
    ...listed('constraints', constraintsOf(element.constraint, isKnown)),
    ...present('content', contentIn(contentReference)),
  }
}

/** Returns a content reference. Returns undefined if R4 itself defines the content, which the validator checks without profiles. */
function contentIn(reference: unknown): string | undefined {
  if (typeof reference !== 'string' || !reference.includes('#')) return undefined
  return r4TypeNameOf(reference.slice(0, reference.indexOf('#'))) === undefined ? reference : undefined
}

/** Returns the value of a choice under the plain name, if it has one: `fixed` for `fixedCode` and for `fixedUri`. */
function choiceRule(element: Element, name: 'fixed' | 'pattern' | 'minValue' | 'maxValue'): { readonly [name: string]: unknown } {
  const key = Object.keys(element).find((other) => other.startsWith(name) && /^[A-Z]/.test(other.slice(name.length)))
  return key === undefined ? {} : { [name]: element[key] }
}

/**
 * Reduces a type. Definitions give primitives a System type of FHIRPath, and may give their FHIR type in an extension; without it, the type
 * is string.
 */
function slimType(type: Element): ProfileType {
  const typeExtension = elementsIn(type.extension).find(({ url }) => String(url).endsWith('structuredefinition-fhir-type'))
  const code = String(typeExtension?.valueUrl ?? typeExtension?.valueUri ?? type.code)
  return {
    code: code.startsWith('http://hl7.org/fhirpath/') ? 'string' : code,
    ...listed('profiles', textsIn(type.profile)),
    ...listed('targetProfiles', textsIn(type.targetProfile)),
  }
}

function regexOf(element: Element): string | undefined {
  const extensions = [element, ...elementsIn(element.type)].flatMap(({ extension }) => elementsIn(extension))
  const found = extensions.find(({ url }) => url === 'http://hl7.org/fhir/StructureDefinition/regex')?.valueString
  return typeof found === 'string' ? found : undefined
}

const STRENGTHS: readonly BindingStrength[] = ['required', 'extensible', 'preferred']

function bindingOf(binding: unknown): Binding | undefined {
  if (!isElement(binding)) return undefined
  const { strength, valueSet } = binding
  const max = elementsIn(binding.extension).find(({ url }) => String(url).endsWith('elementdefinition-maxValueSet'))
  const limit = max?.valueCanonical ?? max?.valueUri
  const valid = STRENGTHS.find((each) => each === strength)
  if (limit === undefined && (typeof valueSet !== 'string' || valid === undefined)) return undefined
  return {
    strength: valid ?? 'preferred',
    ...(typeof valueSet === 'string' && valid !== undefined ? { valueSet } : {}),
    ...(typeof limit === 'string' ? { max: limit } : {}),
  }
}

function slicingOf(slicing: unknown): Slicing | undefined {
  if (!isElement(slicing)) return undefined
  const discriminators = elementsIn(slicing.discriminator).map(discriminatorOf)
  const rules = slicing.rules === 'closed' || slicing.rules === 'openAtEnd' ? slicing.rules : 'open'
  return { discriminators, rules, ...(slicing.ordered === true ? { isOrdered: true as const } : {}) }
}

const KINDS: readonly Discriminator['type'][] = ['value', 'pattern', 'exists', 'type', 'profile']

function discriminatorOf({ type, path }: Element): Discriminator {
  const kind = KINDS.find((each) => each === type)
  if (kind === undefined || typeof path !== 'string')
    throw new UnusableDefinition('It has a slicing with a discriminator that FHIR R4 does not have')
  return { type: kind, path }
}

function constraintsOf(constraints: unknown, isKnown: IsKnown): readonly ProfileConstraint[] {
  return elementsIn(constraints).flatMap(({ key, severity, human, expression, source }) =>
    typeof expression !== 'string' || isKnown(String(key), source)
      ? []
      : [{ key: String(key), severity: severity === 'warning' ? 'warning' : 'error', human: String(human ?? key), expression } as const],
  )
}

const elementsIn = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])
const textsIn = (list: unknown): readonly string[] => (Array.isArray(list) ? list.filter((text) => typeof text === 'string') : [])

const present = <T>(name: string, value: T | undefined): { readonly [name: string]: T } => (value === undefined ? {} : { [name]: value })
const listed = <T>(name: string, list: readonly T[]): { readonly [name: string]: readonly T[] } =>
  list.length === 0 ? {} : { [name]: list }
