/** Compiles the invariants of types and elements. https://hl7.org/fhir/R4/conformance-rules.html#constraints */
import type { Compiler } from '../../lambdas/fhir/path/compile.ts'
import type { Definitions } from '../../lambdas/fhir/path/definitions.ts'
import { Unsupported } from '../../lambdas/fhir/path/tokens.ts'
import type { Invariant } from '../../lambdas/fhir/validate/invariant.ts'
import type { Constraint, ElementDefinition, StructureDefinition } from './hl7.ts'
import { nameOf, parentsOf, typeName } from './shapes.ts'

/** Checked by the validator's own code, on its one walk: faster, or not to be said in FHIRPath of one resource. */
const NATIVE: ReadonlySet<string> = new Set(['ele-1', 'ext-1', 'dom-2', 'dom-3', 'dom-4', 'dom-5', 'ref-1', 'txt-1', 'txt-2'])

/** By type or backbone element; rules of a single element under its path, `Timing.repeat` or `ValueSet.compose.include.system`. */
export function invariants(
  types: readonly StructureDefinition[],
  { shapes }: Definitions,
  fhirpath: Compiler,
): Readonly<Record<string, readonly Invariant[]>> {
  const found: Record<string, readonly Invariant[]> = {}
  const ofTypes = new Map(types.map((type) => [type.type, new Set((type.snapshot!.element[0]!.constraint ?? []).map(({ key }) => key))]))
  for (const type of types) {
    const parents = parentsOf(type)
    for (const element of type.snapshot!.element) {
      const own = element.path === type.type || parents.has(element.path)
      const focus = own ? element.path : focusOf(element)
      if (focus === undefined || (type.kind === 'primitive-type' && own)) continue
      const rules = (element.constraint ?? []).filter((rule) => isChecked(rule) && (own || ofTypes.get(focus)?.has(rule.key) !== true))
      const compiled = rules.flatMap((rule) => compile(rule, focus, fhirpath))
      if (compiled.length > 0 && (own || shapes[parentPath(element)] !== undefined)) found[element.path] = compiled
    }
  }
  return found
}

const isChecked = ({ key, severity, expression }: Constraint): boolean =>
  severity === 'error' && expression !== undefined && !NATIVE.has(key)

const focusOf = ({ path, type }: ElementDefinition): string | undefined =>
  type?.length === 1 && !nameOf(path).endsWith('[x]') ? typeName(type[0]!) : undefined

const parentPath = ({ path }: ElementDefinition): string => path.slice(0, path.lastIndexOf('.'))

function compile({ key, human, expression }: Constraint, type: string, fhirpath: Compiler): readonly Invariant[] {
  try {
    return [{ key, human, test: fhirpath.test(expression!, type) }]
  } catch (thrown) {
    if (thrown instanceof Unsupported) return []
    throw thrown
  }
}
