/** Converts snapshots to shapes: the elements of every type and backbone element. https://hl7.org/fhir/R4/structuredefinition.html */
import type { ElementShape, TypeDefinitions, TypeShape } from '../../lambdas/fhir/path/definitions.ts'
import type { CodeSets } from './code-sets.ts'
import type { ElementDefinition, ElementType, StructureDefinition } from './hl7.ts'

export function generateShapes(
  types: readonly StructureDefinition[],
  resourceTypes: readonly string[],
  codes: CodeSets,
): Pick<TypeDefinitions, 'shapes' | 'targets'> {
  const found: Record<string, TypeShape> = {}
  const targets: (readonly string[])[] = []
  for (const type of types) {
    if (type.kind === 'primitive-type') continue
    const elements = type.snapshot!.element
    const parents = parentsOf(type)
    for (const path of parents) {
      const children = elements.filter((element) => parentOf(element.path) === path && element.max !== '0')
      const isResource = path === type.type && type.kind === 'resource'
      const members = children.flatMap((element) =>
        membersOf(
          element,
          parents,
          (url) => codes.index(url),
          (one) => targetsOf(one, resourceTypes, targets),
        ),
      )
      if (isResource) for (const [key, member] of members) if (key === 'id') Object.assign(member, { type: 'id' })
      const required = children
        .filter((element) => element.path.endsWith('[x]') && element.min > 0)
        .map((element) => elementNameOf(element.path).slice(0, -3))
      found[path] = { elements: Object.fromEntries(members), ...(required.length === 0 ? {} : { required }) }
    }
  }
  return { shapes: found, targets }
}

/** Returns the paths with elements below them: the type and its backbone elements. */
export function parentsOf(type: StructureDefinition): ReadonlySet<string> {
  const paths = type.snapshot!.element.map((element) => element.path)
  return new Set([type.type, ...paths.filter((path) => path.includes('.')).map(parentOf)])
}

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0))

export const elementNameOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1)

type Member = readonly [key: string, shape: ElementShape]

function membersOf(
  element: ElementDefinition,
  parents: ReadonlySet<string>,
  codeSet: (url: string) => number | 'mime' | undefined,
  targetList: (type: ElementType) => number | undefined,
): readonly Member[] {
  const name = elementNameOf(element.path)
  const bound = element.binding?.strength === 'required' ? element.binding.valueSet : undefined
  const plain = {
    ...(element.min > 0 && !name.endsWith('[x]') ? { min: element.min } : {}),
    ...(element.max === '1' ? {} : { list: true }),
  }
  if (element.contentReference !== undefined) return [[name, { type: element.contentReference.slice(1), ...plain }]]
  if (parents.has(element.path)) return [[name, { type: element.path, ...plain }]]
  return element.type!.map((definition) => {
    const type = typeNameOf(definition)
    const codes = bound !== undefined && CODED.has(type) ? codeSet(bound) : undefined
    const targets = type === 'Reference' ? targetList(definition) : undefined
    const shape = { type, ...plain, ...(codes === undefined ? {} : { codes }), ...(targets === undefined ? {} : { targets }) }
    if (!name.endsWith('[x]')) return [name, shape]
    const choice = name.slice(0, -3)
    return [choice + type[0]!.toUpperCase() + type.slice(1), { ...shape, choice }]
  })
}

const CODED: ReadonlySet<string> = new Set(['code', 'Coding', 'CodeableConcept'])

/** Returns the FHIR type. Ids and values of primitives have FHIRPath's system types, with the FHIR type in an extension. */
export function typeNameOf({ code, extension = [] }: ElementType): string {
  const typeExtension = extension.find(({ url }) => url.endsWith('structuredefinition-fhir-type'))
  return typeExtension?.valueUrl ?? typeExtension?.valueUri ?? (code.startsWith('http://hl7.org/fhirpath/') ? 'string' : code)
}

/**
 * Returns the index of the element's target types in `lists`, and adds them if they are new. Undefined if any type is allowed, or if one is
 * not a resource type of R4.
 */
function targetsOf(type: ElementType, resourceTypes: readonly string[], lists: (readonly string[])[]): number | undefined {
  const names = (type.targetProfile ?? []).map(nameOfProfile).sort()
  if (names.length === 0 || !names.every((name) => resourceTypes.includes(name))) return undefined
  const existing = lists.findIndex((list) => list.join() === names.join())
  return existing >= 0 ? existing : lists.push(names) - 1
}

const nameOfProfile = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
