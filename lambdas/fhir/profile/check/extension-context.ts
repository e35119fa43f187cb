/** Checks whether an element may carry an extension. https://hl7.org/fhir/R4/defining-extensions.html#context */
import type { Element } from '../../resource.ts'
import { pathOf as placeOf } from '../../validate/findings.ts'
import { type CheckContext, report } from '../check-context.ts'
import { joinFirst } from '../clipped-text.ts'
import type { ElementPath } from '../deferred-rules.ts'
import type { ExtensionContext } from '../definition.ts'
import type { ProfileTree } from '../profile-tree.ts'
import { baseTypesOf, elementOf } from '../type-elements.ts'
import { deferRule } from './constraint.ts'

/** Current element of the walk: its FHIR type, its name, and `above`, the element that contains it. */
export type WalkLocation = {
  readonly type: string
  readonly name?: string
  readonly above?: WalkLocation
  /** For an extension: its `url`, and its `definition` if that is loaded. */
  readonly url?: unknown
  readonly definition?: ProfileTree | undefined
  /** For the root element of a resource: the `resource` itself and its FHIRPath `location`. Absent for all other elements. */
  readonly resource?: Element
  readonly location?: string
}

/**
 * Whether a context path, such as `Patient.contact`, `BackboneElement` or `HumanName.given`, applies to an element. Compares names from the
 * end of the path upwards, until the rest of the path is a type or base type of the element there.
 */
function isAt(path: string, position: WalkLocation): boolean {
  for (let [at, rest]: [WalkLocation, string] = [position, path]; ; at = at.above, rest = rest.slice(0, rest.lastIndexOf('.'))) {
    if (rest === at.type || rest === 'Element' || baseTypesOf(at.type).includes(rest)) return true
    const name = rest.slice(rest.lastIndexOf('.') + 1)
    if (name === rest || at.above === undefined || (name !== at.name && `${name}[x]` !== at.name)) return false
  }
}

/** Reports an extension that no context allows. Contexts in FHIRPath are deferred, and only if no other context allows the extension. */
export function checkExtensionContexts(contexts: readonly ExtensionContext[], host: WalkLocation, check: CheckContext): void {
  if (contexts.length === 0 || contexts.some((context) => isAllowed(context, host))) return
  const human = `This extension may stand only on ${joinFirst(contexts.map(({ expression }) => expression))}`
  const paths = contexts.filter(({ type }) => type === 'fhirpath').map(({ expression }) => expression)
  if (paths.length === 0) return report(check, 'structure', 'context', human)
  const { resource, location } = rootOf(host)
  const expression = paths.length === 1 ? paths[0]! : paths.map((path) => `(${path})`).join('.combine')
  const at = hostOf(check)
  const isAmong = (elementPaths: readonly ElementPath[]): boolean =>
    elementPaths.some((elementPath) => locationIn(resource, location, elementPath) === at)
  const rule = { key: 'context', severity: 'error', human, expression } as const
  deferRule(rule, resource, String(resource.resourceType), { ...check, owner: resource }, { isAmong })
}

/** Defers a contextInvariant: a rule about the element that carries the extension. `%extension` means the extension itself. */
export function checkContextInvariant(invariant: string, host: WalkLocation, check: CheckContext): void {
  const { resource, location } = rootOf(host)
  const [self, at] = [check.faults.expression, hostOf(check)].map((each) => `%resource${each.slice(location.length)}`)
  const expression = invariant.replace(/%(?:extension\b|`extension`|'extension')/g, self!)
  const human = `This extension may stand only where ${joinFirst([invariant])}`
  const rule = { key: 'contextInvariant', severity: 'error', human, expression } as const
  deferRule(rule, resource, String(resource.resourceType), { ...check, owner: resource }, { on: at! })
}

/** Returns the innermost resource that holds an element, possibly a contained one, and the location of this resource. */
function rootOf(position: WalkLocation): { readonly resource: Element; readonly location: string } {
  const { resource, location, above } = position
  return resource === undefined || location === undefined ? rootOf(above!) : { resource, location }
}

/** Returns the location of the element that carries the current extension. */
const hostOf = ({ faults }: CheckContext): string => faults.expression.replace(/\.(?:modifierE|e)xtension\[\d+\]$/, '')

/** Returns the FHIRPath of an element. A choice is named without its type: `valueString` is `value`. */
function locationIn(resource: Element, location: string, elementPath: ElementPath): string {
  let type = String(resource.resourceType)
  const steps = elementPath.map((step) => {
    if (typeof step === 'number') return step
    const shape = elementOf(type, step)
    type = shape?.type ?? (step === 'extension' ? 'Extension' : '')
    return shape?.choice ?? step
  })
  return steps.length === 0 ? location : `${location}.${placeOf(steps)}`
}

/**
 * Whether a context allows the extension on this element. False for contexts in FHIRPath, which are deferred. For an element of a profile,
 * conformance of the resource to that profile is not checked.
 */
const isAllowed = ({ type, expression }: ExtensionContext, host: WalkLocation): boolean =>
  type === 'extension' ? expression === host.url : type === 'element' && isAt(pathOf(expression), host)

/** Removes the profile and slice names: `http://example.org/profile#Patient.name:official` → `Patient.name` */
const pathOf = (expression: string): string => expression.slice(expression.lastIndexOf('#') + 1).replace(/:[^.]*/g, '')
