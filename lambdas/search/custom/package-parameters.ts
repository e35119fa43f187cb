/**
 * Search parameters of packages. Selects the definition of a code on a type: the definition of R4, then the newest version of a package,
 * then the package whose name sorts first. An activated draft is selected if no other definition has its code.
 */
import { FhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { ACTIVATED, type PackageDefinitions } from '../../ports/definitions/package-definitions.ts'
import type { PackageLabel } from '../../ports/definitions/package-store.ts'
import { compareVersions } from '../../ports/definitions/version-order.ts'
import { usesEvaluationBudget } from '../custom-evaluation.ts'
import type { CustomMapping } from '../custom-mapping.ts'
import { customMappingsOf, typesWithR4Parameter } from './custom-parameters.ts'

/**
 * Parameter of a package.
 * - `used`: the index builds `mappings`, one for each type on which searches use the parameter.
 * - `r4`: R4 defines its code on all its types.
 * - `shadowed`: another package defines its code on all other types. `reason` names that package.
 * - `inactive`: its status is not `active`, and it is no activated draft.
 * - `refused`: searches cannot use it. `reason`: explanation for the operator.
 *
 * `isDraft`: it is a draft that the operator activated.
 */
export type PackageParameter = {
  readonly package: PackageLabel
  readonly url: string
  readonly code: string
  readonly state: 'used' | 'r4' | 'shadowed' | 'inactive' | 'refused'
  readonly reason?: string
  readonly isDraft?: true
  readonly mappings: readonly CustomMapping[]
}

const isActivatedDraft = (definition: Resource): boolean => definition.status === 'draft' && definition[ACTIVATED] === true

/** Returns the mappings that the index builds for parameters. */
export const mappingsOf = (parameters: readonly PackageParameter[]): readonly CustomMapping[] =>
  parameters.flatMap(({ mappings }) => mappings)

/** Returns the parameters of all packages with their states. The order is that of precedence. */
export function resolvePackageParameters(packages: readonly PackageDefinitions[]): readonly PackageParameter[] {
  const all = packages
    .toSorted(inOrder)
    .flatMap(({ name, version, parameters }) =>
      parameters
        .toSorted((a, b) => compareTexts(String(a.url), String(b.url)))
        .map((definition) => ({ label: { name, version }, definition })),
    )
    .toSorted((a, b) => Number(isActivatedDraft(a.definition)) - Number(isActivatedDraft(b.definition)))
  const isComposite = ({ definition }: (typeof all)[number]): boolean => definition.type === 'composite'
  const single = all.filter((each) => !isComposite(each)).map(({ label, definition }) => compiled(label, definition, []))
  // A composite refers to parameters by their canonical URLs, also to parameters that searches do not use.
  const known = single.flatMap(({ mappings }) => mappings)
  const composite = all.filter(isComposite).map(({ label, definition }) => compiled(label, definition, known))
  const ofDefinition = new Map([...single, ...composite].map((each) => [each.definition, each]))
  const taken = new Map<string, PackageLabel>()
  return all.map(({ definition }) => withPrecedence(ofDefinition.get(definition)!, taken))
}

/** Orders packages by the precedence of their parameters, the highest first. */
const inOrder = (a: PackageLabel, b: PackageLabel): number => compareTexts(a.name, b.name) || compareVersions(b.version, a.version)

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

type Compiled = PackageParameter & { readonly definition: Resource }

function compiled(label: PackageLabel, definition: Resource, known: readonly CustomMapping[]): Compiled {
  const isDraft = isActivatedDraft(definition)
  const about = {
    ...{ definition, package: label, url: String(definition.url), code: String(definition.code), mappings: [] },
    ...(isDraft ? { isDraft } : {}),
  }
  if (definition.status !== 'active' && !isDraft) return { ...about, state: 'inactive' }
  const counted: Resource = isDraft ? { ...definition, status: 'active' } : definition
  try {
    const mappings = customMappingsOf(counted, '', known).map(({ tenant: _, ...mapping }): CustomMapping => mapping)
    // All tenants share the parameter, so no budget of a tenant could limit it.
    if (mappings.some(usesEvaluationBudget)) return { ...about, state: 'refused', reason: COSTLY }
    return mappings.length === 0 ? { ...about, state: 'r4' } : { ...about, state: 'used', mappings }
  } catch (error) {
    if (!(error instanceof FhirError)) throw error
    return { ...about, state: typesWithR4Parameter(counted).length > 0 && isAllR4(counted) ? 'r4' : 'refused', reason: error.message }
  }
}

const COSTLY = 'Its expression is invalid, or may take long. Add it as a SearchParameter of a tenant'

const isAllR4 = (definition: Resource): boolean => {
  const found = typesWithR4Parameter(definition)
  return Array.isArray(definition.base) && definition.base.every((base) => found.includes(String(base)))
}

/** Removes the mappings for which `taken` has a parameter of another package, and adds the others to it. */
function withPrecedence({ definition: _, ...parameter }: Compiled, taken: Map<string, PackageLabel>): PackageParameter {
  const isTaken = ({ base, code }: CustomMapping): boolean => taken.has(`${base} ${code}`)
  const mappings = parameter.mappings.filter((each) => !isTaken(each))
  const [first] = parameter.mappings.filter(isTaken)
  for (const { base, code } of mappings) taken.set(`${base} ${code}`, parameter.package)
  if (parameter.state !== 'used' || mappings.length > 0) return { ...parameter, mappings }
  const { name, version } = taken.get(`${first!.base} ${first!.code}`)!
  return { ...parameter, mappings, state: 'shadowed', reason: `searches by its code use the parameter of ${name} ${version}` }
}
