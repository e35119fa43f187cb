/** Compiles the invariants of types and elements. https://hl7.org/fhir/R4/conformance-rules.html#constraints */
import type { Compiler } from '../../lambdas/fhir/path/compile.ts'
import { UnsupportedExpression } from '../../lambdas/fhir/path/tokens.ts'
import type { Invariant } from '../../lambdas/fhir/validate/invariant.ts'
import { type Constraint, type ElementDefinition, readProfile, type StructureDefinition } from './hl7.ts'
import { parentsOf, typeNameOf } from './shapes.ts'

/** Checked by the validator's own code, on its one walk: faster, or not to be said in FHIRPath of one resource. */
const NATIVE: ReadonlySet<string> = new Set(['ele-1', 'ext-1', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'ref-1', 'txt-1', 'txt-2'])

/** By type or backbone element; rules of a single element under its path, `Timing.repeat` or `ValueSet.compose.include.system`. */
export function generateInvariants(
  types: readonly StructureDefinition[],
  fhirpath: Compiler,
): Readonly<Record<string, readonly Invariant[]>> {
  const found: Record<string, readonly Invariant[]> = {}
  const ofTypes = new Map(types.map((type) => [type.type, new Set((type.snapshot!.element[0]!.constraint ?? []).map(({ key }) => key))]))
  for (const type of types) {
    if (type.kind === 'primitive-type') continue
    const parents = parentsOf(type)
    for (const element of type.snapshot!.element) {
      for (const [path, focus] of parents.has(element.path) ? [[element.path, element.path] as const] : placesOf(element)) {
        const rules = [...(element.constraint ?? []), ...profiledRules(element, focus)].filter(
          (rule) => isChecked(rule) && (path === focus || ofTypes.get(focus)?.has(rule.key) !== true),
        )
        const compiled = rules.flatMap((rule) => compile(rule, focus, fhirpath))
        if (compiled.length > 0) found[path] = compiled
      }
    }
  }
  return found
}

/** What the profiles say that its type has to be as: SimpleQuantity. */
const profiledRules = ({ type: types = [] }: ElementDefinition, focus: string): readonly Constraint[] =>
  types
    .filter((type) => typeNameOf(type) === focus)
    .flatMap(({ profile = [] }) => profile.flatMap((url) => readProfile(url).snapshot!.element[0]!.constraint ?? []))

/** An element's path and type; of a choice, all of them. A reference to another element's content has that one's rules. */
function placesOf({ path, type = [] }: ElementDefinition): readonly (readonly [path: string, type: string])[] {
  const names = type.map(typeNameOf)
  if (!path.endsWith('[x]')) return names.map((name) => [path, name] as const)
  return names.map((name) => [path.slice(0, -3) + name[0]!.toUpperCase() + name.slice(1), name] as const)
}

const isChecked = ({ key, severity, expression }: Constraint): boolean =>
  severity === 'error' && expression !== undefined && !NATIVE.has(key)

/** `repeats = true` is empty where nothing is said, and so is a rule that hangs on it: what is not said is not true. */
const decided = (expression: string): string => expression.replaceAll(/\b(\w+) ?= ?true\b/g, '$1.where($this = true).exists()')

function compile({ key, human, expression }: Constraint, type: string, fhirpath: Compiler): readonly Invariant[] {
  try {
    return [{ key, human, test: fhirpath.test(decided(expression!), type) }]
  } catch (thrown) {
    if (thrown instanceof UnsupportedExpression) return []
    throw thrown
  }
}
