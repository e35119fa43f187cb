/**
 * Finds rules of a profile for elements, types and slices that do not exist. Such a rule checks no resource, or rejects every one.
 * https://hl7.org/fhir/R4/elementdefinition.html
 */
import type { Issue } from '../../outcome.ts'
import { type Element, isElement, type Resource } from '../../resource.ts'
import { withoutVersion } from '../canonical.ts'
import { clipText } from '../clipped-text.ts'
import type { Profile } from '../definition.ts'
import { elementOf, elementsOf } from '../type-elements.ts'
import { isTypeOfR4 } from './supported-definitions.ts'

/** Maximum warnings about elements. If there are more, one further warning states the number of the others. */
const MAX_NAMES = 20
/** Base types that profiles may name, besides the types that resources use. */
const GENERAL: ReadonlySet<string> = new Set(['Resource', 'DomainResource', 'Element', 'BackboneElement'])
/** URL prefix of the System types of FHIRPath, which profiles may name too. */
const FHIRPATH = 'http://hl7.org/fhirpath/'
/** Elements of every primitive, which has no shape of its own. */
const COMMON_MEMBERS: ReadonlySet<string> = new Set(['id', 'extension', 'value'])

/** Returns warnings about elements, types and slices that do not exist. `base`: base of the profile, if it is loaded. */
export function findUnknownNames(definition: Resource, base: Profile | undefined): readonly Issue[] {
  const { type, snapshot, differential } = definition
  const [part, elements] = hasElements(snapshot) ? ['snapshot', snapshot.element] : ['differential', Object(differential).element]
  if (typeof type !== 'string' || !Array.isArray(elements)) return []
  const sliced = slicedIn(elements, definition, base)
  const typesAt = typesBelow(type)
  const problems = elements.filter(isElement).flatMap((element, i) => {
    const location = `StructureDefinition.${part}.element[${i}]`
    return [...pathProblems(element, typesAt), ...typeProblems(element), ...sliceProblems(element, typesAt, sliced)].map((text) =>
      warning(location, text),
    )
  })
  const more = problems.length - MAX_NAMES
  return more <= 0
    ? problems
    : [...problems.slice(0, MAX_NAMES), warning(`StructureDefinition.${part}`, `${more} more of its elements are not as R4 has them`)]
}

const warning = (expression: string, text: string): Issue => ({ severity: 'warning', code: 'business-rule', expression, text })

const hasElements = (part: unknown): part is { readonly element: readonly unknown[] } =>
  isElement(part) && Array.isArray(part.element) && part.element.length > 0

const pathProblems = ({ path }: Element, typesAt: TypesAt): readonly string[] =>
  typesAt(namesIn(path)).length > 0 ? [] : [`R4 has no element ${clipText(String(path))}: nothing can be there`]

const namesIn = (path: unknown): readonly string[] => String(path).split('.').slice(1)

/**
 * Returns the possible types of an element by the names on its path. `Resource` stands for every type. The result is empty if the element
 * does not exist.
 */
type TypesAt = (names: readonly string[]) => readonly string[]

/** Returns a lookup of types below a type. It caches each step by its types, because a choice within a choice leads to many. */
function typesBelow(type: string): TypesAt {
  const steps = new Map<string, Step>()
  const stepOf = (types: readonly string[]): Step => {
    const step = steps.get(types.join()) ?? { types, next: new Map() }
    steps.set(types.join(), step)
    return step
  }
  const first = stepOf([type])
  return (names) => {
    let step = first
    for (const name of names) {
      if (step.types.includes('Resource')) break
      const next = step.next.get(name) ?? stepOf([...new Set(step.types.flatMap((each) => typesOf(each, name)))])
      step.next.set(name, next)
      step = next
    }
    return step.types
  }
}

type Step = { readonly types: readonly string[]; readonly next: Map<string, Step> }

/** Returns the types that an element may have. Empty: there is no such element. */
function typesOf(type: string, name: string): readonly string[] {
  if (name.endsWith('[x]')) {
    const choice = name.slice(0, -3)
    return Object.values(elementsOf(type)).flatMap((each) => (each.choice === choice ? [each.type] : []))
  }
  const found = elementOf(type, name)
  if (found !== undefined) return [found.type]
  if (!COMMON_MEMBERS.has(name) || GENERAL.has(type) || Object.keys(elementsOf(type)).length > 0) return []
  return [name === 'extension' ? 'Extension' : 'string']
}

function typeProblems({ type }: Element): readonly string[] {
  const codes = (Array.isArray(type) ? type.filter(isElement) : []).map(({ code }) => String(code))
  const unknown = codes.filter((code) => !isTypeOfR4(code) && !GENERAL.has(code) && !code.startsWith(FHIRPATH))
  return unknown.map((code) => `R4 has no type ${clipText(code)}: nothing is of it`)
}

/** Returns the paths of sliced elements. Returns undefined if they depend on a base that is not loaded. */
function slicedIn(elements: readonly unknown[], { snapshot, baseDefinition, type }: Resource, base: Profile | undefined) {
  const isR4Base = withoutVersion(String(baseDefinition)) === `http://hl7.org/fhir/StructureDefinition/${type}`
  if (!hasElements(snapshot) && !isR4Base && base?.isWhole !== true) return undefined
  const own = elements.filter(isElement).flatMap(({ path, slicing }) => (slicing === undefined ? [] : [String(path)]))
  const before = (base?.elements ?? []).flatMap(({ id, slicing }) => (slicing === undefined ? [] : [id.replace(/:[^.]*/g, '')]))
  return new Set([...own, ...before])
}

/** Elements that may have slices without a declared slicing: extensions are sliced by url, choices by type. */
const IMPLIED = /\.(?:extension|modifierExtension)$|\[x\]$/

function sliceProblems({ path, sliceName }: Element, typesAt: TypesAt, sliced: ReadonlySet<string> | undefined): readonly string[] {
  if (sliced === undefined || typeof sliceName !== 'string' || sliced.has(String(path)) || IMPLIED.test(String(path))) return []
  if (isForm(namesIn(path), typesAt)) return []
  return [`Nothing says what tells slices of ${clipText(String(path))} apart: nothing is of the slice ${clipText(sliceName)}`]
}

/** Whether names lead to one form of a choice, such as `Observation.valueQuantity`. It can have a slice without declared slicing. */
const isForm = (names: readonly string[], typesAt: TypesAt): boolean =>
  typesAt(names.slice(0, -1)).some((each) => elementOf(each, names.at(-1) ?? '')?.choice !== undefined)
