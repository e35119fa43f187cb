/** Compiles the invariants of types and elements. https://hl7.org/fhir/R4/conformance-rules.html#constraints */
import type { Compiler } from '../../lambdas/fhir/path/compile.ts'
import { UnsupportedExpression } from '../../lambdas/fhir/path/tokens.ts'
import type { Invariant } from '../../lambdas/fhir/validate/invariant.ts'
import { type Constraint, type ElementDefinition, readProfile, type StructureDefinition } from './hl7.ts'
import { parentsOf, typeNameOf } from './shapes.ts'

/**
 * Invariants that the code of the validator checks instead, while it walks the resource. That is faster, or FHIRPath on one resource cannot
 * express them.
 */
const NATIVE: ReadonlySet<string> = new Set(['ele-1', 'ext-1', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'ref-1', 'txt-1', 'txt-2'])

/**
 * Returns the invariants by type or backbone element. Rules of a single element are under its path, for example `Timing.repeat` or
 * `ValueSet.compose.include.system`.
 */
export function generateInvariants(
  types: readonly StructureDefinition[],
  fhirpath: Compiler,
): Readonly<Record<string, readonly Invariant[]>> {
  const found: Record<string, readonly Invariant[]> = {}
  const keysByType = new Map(types.map((type) => [type.type, new Set((type.snapshot!.element[0]!.constraint ?? []).map(({ key }) => key))]))
  for (const type of types) {
    if (type.kind === 'primitive-type') continue
    const parents = parentsOf(type)
    for (const element of type.snapshot!.element) {
      for (const [path, focus] of parents.has(element.path) ? [[element.path, element.path] as const] : pathsOf(element)) {
        const rules = [...(element.constraint ?? []), ...profiledRules(element, focus)].filter(
          (rule) => isChecked(rule) && (path === focus || keysByType.get(focus)?.has(rule.key) !== true),
        )
        const compiled = rules.flatMap((rule) => compile(rule, focus, fhirpath))
        if (compiled.length > 0) found[path] = compiled
      }
    }
  }
  return found
}

/** Returns the rules of the profiles that an element sets for its type, for example SimpleQuantity. */
const profiledRules = ({ type: types = [] }: ElementDefinition, focus: string): readonly Constraint[] =>
  types
    .filter((type) => typeNameOf(type) === focus)
    .flatMap(({ profile = [] }) => profile.flatMap((url) => readProfile(url).snapshot!.element[0]!.constraint ?? []))

/**
 * Returns the path and type of an element, one pair for each type of a choice. An element that references another's content has none: the
 * rules of that element apply to it.
 */
function pathsOf({ path, type = [] }: ElementDefinition): readonly (readonly [path: string, type: string])[] {
  const names = type.map(typeNameOf)
  if (!path.endsWith('[x]')) return names.map((name) => [path, name] as const)
  return names.map((name) => [path.slice(0, -3) + name[0]!.toUpperCase() + name.slice(1), name] as const)
}

const isChecked = ({ key, severity, expression }: Constraint): boolean =>
  severity === 'error' && expression !== undefined && !NATIVE.has(key)

/**
 * Replaces `x = true` by an expression that is false instead of empty if the element `x` is missing. Otherwise a rule that depends on it
 * would be empty, too.
 */
const decided = (expression: string): string => expression.replaceAll(/\b(\w+) ?= ?true\b/g, '$1.where($this = true).exists()')

function compile({ key, human, expression }: Constraint, type: string, fhirpath: Compiler): readonly Invariant[] {
  try {
    return [{ key, human, test: fhirpath.test(decided(expression!), type) }]
  } catch (error) {
    if (error instanceof UnsupportedExpression) return []
    throw error
  }
}
