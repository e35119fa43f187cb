/** Generates R4's rules beyond its structure as a package: profiles, extensions, value sets, and constraints that only warn. */
import { buildPackage, type Package, packageFilesOf, versionFileOf } from '../../lambdas/fhir/profile/definitions/package-files.ts'
import type { Inclusion, ValueSet } from '../../lambdas/fhir/profile/value-set.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { applyErratum } from './errata.ts'
import { readDefinitions } from './hl7.ts'
import { toJsonLines } from './lines.ts'
import { buildUsValueSets } from './us-value-sets.ts'

export const PACKAGES_FOLDER = 'lambdas/fhir/definitions/packages'

export type ConstraintKeys = {
  /** Keys of all constraints of R4's own types. */
  readonly all: ReadonlySet<string>
  /** Keys of the constraints that are checked with the structure. */
  readonly errors: ReadonlySet<string>
}

/** Returns the generated files: path → text. */
export function generatePackages(): ReadonlyMap<string, string> {
  const own = readDefinitions('StructureDefinition')
  const keys = r4ConstraintKeysOf(own)
  const regulated = buildPackage({ name: 'us-value-sets', version: '1.0.0' }, buildUsValueSets(), () => false).content
  return new Map([
    ['lambdas/fhir/definitions/constraint-keys.json', toJsonLines([...keys.all].sort())],
    ...generatedFilesOf(r4(own, keys)),
    ...guideFilesOf(regulated),
  ])
}

export function r4ConstraintKeysOf(own = readDefinitions('StructureDefinition')): ConstraintKeys {
  const constraints = own.filter(({ derivation }) => derivation !== 'constraint').flatMap(constraintsOf)
  return {
    all: new Set(constraints.map(({ key }) => key)),
    errors: new Set(constraints.filter(({ severity }) => severity === 'error').map(({ key }) => key)),
  }
}

type Constraint = { readonly key: string; readonly severity: string }
type Snapshot = { readonly element: readonly { readonly constraint?: readonly Constraint[] }[] }

const constraintsOf = ({ snapshot }: Resource): readonly Constraint[] =>
  ((snapshot as Snapshot | undefined)?.element ?? []).flatMap(({ constraint = [] }) => constraint)

function r4(own: readonly Resource[], keys: ConstraintKeys): Package {
  const name = { name: 'hl7.fhir.r4.core', version: '4.0.1' }
  const isOwn = ({ derivation }: Resource): boolean => derivation !== 'constraint'
  const codes = [...readDefinitions('ValueSet'), ...readDefinitions('CodeSystem')]
  const types = buildPackage(name, own.filter(isOwn), (key) => keys.errors.has(key)).content
  const others = buildPackage(name, [...own.filter((each) => !isOwn(each)).map(applyErratum), ...codes], (key) => keys.all.has(key)).content
  const profiles = Object.fromEntries(
    [...new Set([...Object.keys(types.profiles), ...Object.keys(others.profiles)])]
      .map((type) => [type, { ...withStatements(types.profiles[type] ?? {}), ...others.profiles[type] }] as const)
      .filter(([, file]) => Object.keys(file).length > 0),
  )
  return withoutUnusedValueSets({ ...others, profiles })
}

const withStatements = (file: Package['profiles'][string]): Package['profiles'][string] =>
  Object.fromEntries(Object.entries(file).filter(([, { elements }]) => elements.length > 0))

/**
 * Removes value sets that no binding names; R4 has a thousand. Keeps a code system only if a remaining value set needs it: to filter its
 * concepts, or to compare its codes without case.
 */
function withoutUnusedValueSets(content: Package): Package {
  const elements = Object.values(content.profiles).flatMap((file) => Object.values(file).flatMap(({ elements }) => elements))
  const urls = new Set(elements.flatMap(({ binding }) => [binding?.valueSet, binding?.max]).map((url) => url?.split('|')[0]))
  const valueSets: Record<string, ValueSet> = {}
  const systems = new Set<string>()
  const add = (url: string): void => {
    const set = content.valueSets[url]
    if (set === undefined || url in valueSets) return
    valueSets[url] = set
    for (const inclusion of [...set.include, ...(set.exclude ?? [])]) addFrom(inclusion)
  }
  const addFrom = ({ system, codes, filters, valueSets: others = [] }: Inclusion): void => {
    const isRead = filters !== undefined || (codes !== undefined && content.codeSystems[system ?? '']?.isAnyCase)
    if (system !== undefined && isRead) systems.add(system)
    for (const other of others) add(other.split('|')[0]!)
  }
  for (const url of urls) if (url !== undefined) add(url)
  const codeSystems = Object.fromEntries(Object.entries(content.codeSystems).filter(([url]) => systems.has(url)))
  return { ...content, valueSets, codeSystems }
}

/** Length above which lists are divided into several files. The built-in packages are on a local disk, so their lists stay whole. */
const WHOLE = Number.MAX_SAFE_INTEGER

/** Returns the files of a built-in package other than the package of R4: path → text. Such a package defines no canonical URL of R4. */
export const guideFilesOf = (content: Package): ReadonlyMap<string, string> =>
  generatedFilesOf(content, [versionFileOf(content, () => false)])

const generatedFilesOf = (content: Package, more: readonly (readonly [file: string, text: string])[] = []): ReadonlyMap<string, string> =>
  new Map(
    [...packageFilesOf(content, WHOLE), ...more].map(([name, text]) => [
      `${PACKAGES_FOLDER}/${content.name}-${content.version}/${name}`,
      text,
    ]),
  )
