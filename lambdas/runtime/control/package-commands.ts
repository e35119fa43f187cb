/** Commands by which an operator adds, lists and removes packages of definitions. A running server uses each change. */
import { join } from 'node:path'
import { CommandAuditLog } from '../../adapters/filesystem/command-audit-log.ts'
import { FilesystemPackages } from '../../adapters/filesystem/packages.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { type AuditPorts, auditChange } from '../../auth/administration/audited-change.ts'
import { withoutVersion } from '../../fhir/profile/canonical.ts'
import type { Package, SkippedDefinition } from '../../fhir/profile/definitions/package-files.ts'
import { NO_DEFINITIONS } from '../../indexing/custom-definitions.ts'
import { withPackageParameters } from '../../indexing/package-parameters.ts'
import { claimsOf } from '../../interactions/capabilities/capabilities.ts'
import { missingCapabilities } from '../../interactions/capabilities/missing-capabilities.ts'
import { dependenciesOf, matchesRequest, type PackageReference } from '../../packages/package-labels.ts'
import { PackageReader } from '../../packages/package-reader.ts'
import { readSearchParameters } from '../../packages/package-search-parameters.ts'
import { addedGuidesOf } from '../../packages/supported-profiles.ts'
import type { DefinitionType } from '../../ports/definitions/canonicals.ts'
import { isSamePackage, type PackageLabel, type PackageStore } from '../../ports/definitions/package-store.ts'
import { TENANT_QUOTA_TEXT } from '../../search/custom/custom-parameter-limits.ts'
import { mappingsOf, type PackageParameter, resolvePackageParameters } from '../../search/custom/package-parameters.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'
import { readConfig } from '../config.ts'
import { definitionsOf } from '../definitions.ts'
import { nameOfOperator } from '../operator-name.ts'
import { AUDIT_FOLDER, makeStore } from './lost-files.ts'
import { type EffectiveParts, type PackageEffects, packageEffectsAt, type TenantDefinition } from './package-effects.ts'
import { PACKAGES_FOLDER } from './package-folder.ts'
import { type DraftUse, OWN_PACKAGES, type PackageSource, type ReadPackage, readSource } from './package-source.ts'
import { type ListedParameter, type ParameterStates, parameterStatesAt, withBuildState } from './parameter-states.ts'

export { type PackageReference, parsePackageReference, parsePackageRequest } from '../../packages/package-labels.ts'
export type { PackageLabel } from '../../ports/definitions/package-store.ts'
export type { PackageSource } from './package-source.ts'

/**
 * Store of packages. `recording`: parts that write changes to the audit log. `parameterStates`: returns the states of the parameters in the
 * index, or undefined if no server runs. `effectsOf`: returns the effects of a package on stored data, or undefined if no server runs.
 * `endRemovedParameters`: ends the parameters in the index that no package defines any longer, where the server itself does it later.
 */
export type PackageAdministration = {
  readonly store: PackageStore
  readonly recording: AuditPorts
  readonly parameterStates: () => Promise<ParameterStates | undefined>
  readonly effectsOf: (parts: EffectiveParts) => Promise<PackageEffects | undefined>
  readonly endRemovedParameters?: (wanted: readonly CustomMapping[]) => Promise<void>
  readonly close: () => Promise<void>
}

export type AddedPackage = PackageLabel & {
  readonly counts: DefinitionCounts
  /** SearchParameters of the package, each with its state, and a reason if searches cannot use it. */
  readonly parameters: readonly PackageParameter[]
  /** Parameters of other packages that searches no longer use, because this package defines their codes. */
  readonly replaced: readonly Pick<PackageParameter, 'code' | 'package'>[]
  /** Types whose index documents are rebuilt for its new search parameters. `documents`: absent if they are not counted. */
  readonly rebuilt: readonly { readonly type: string; readonly documents?: number }[]
  /** Definitions of tenants that have a code or a canonical URL of the package. */
  readonly ofTenants: readonly TenantDefinition[]
  /** Definitions that the server does not use, and why. */
  readonly leftOut: readonly SkippedDefinition[]
  /** Dependencies that are not installed, as the package names them. `reason`: why the command could not add one. */
  readonly missing: readonly MissingPackage[]
  /** Canonical URLs of the package that R4 also defines. Only references with the package's version use its definitions. */
  readonly ofR4: readonly string[]
}

export type MissingPackage = PackageLabel & { readonly reason?: string }

export type DefinitionCounts = { readonly profiles: number; readonly valueSets: number; readonly codeSystems: number }

/**
 * Installed package. `counts`: undefined if a file of the package cannot be read. `isOwn`: whether it is a part of the server, not added by
 * an operator. `parameters`: search parameters with their states beside those of all other packages and in the index.
 */
export type ListedPackage = PackageLabel & {
  readonly counts: DefinitionCounts | undefined
  readonly isOwn: boolean
  readonly parameters: readonly ListedParameter[]
}

/** Opens the packages of a data folder. `isNew`: creates the store if the folder has none. */
export async function openPackages(data: string, isNew = false): Promise<PackageAdministration> {
  if (isNew) await makeStore(data)
  const audit = new CommandAuditLog(join(data, AUDIT_FOLDER))
  return {
    store: new FilesystemPackages(join(data, PACKAGES_FOLDER)),
    recording: { audit, clock: new SystemClock(), operator: nameOfOperator() },
    parameterStates: () => parameterStatesAt(data),
    effectsOf: packageEffectsAt(data),
    close: () => audit.close(),
  }
}

/** Maximum dependencies that are added with a package, indirect ones included. Further ones are reported as missing. */
const MOST_BROUGHT = 100

/** `withDependencies`: also adds the dependencies. `isDryRun`: reports the same and adds nothing. `drafts`: use of the drafts of all of them. */
export type AddOptions = { readonly withDependencies?: boolean; readonly isDryRun?: boolean; readonly drafts?: DraftUse }

/**
 * Adds a package, and with `withDependencies` its dependencies. Returns all added packages, dependencies first. Throws an Error if `source`
 * cannot be added. Reports a dependency that cannot be added as missing.
 */
export async function addPackage(
  place: PackageAdministration,
  source: PackageSource,
  { withDependencies = false, isDryRun = false, drafts }: AddOptions = {},
): Promise<readonly AddedPackage[]> {
  const met: PackageLabel[] = []
  const added: AddedPackage[] = []
  async function add(from: PackageSource): Promise<void> {
    const read = await readSource(from, drafts)
    const there = await labelsIn(place.store)
    if (there.some((each) => isSamePackage(each, read.label))) throw alreadyThere(read.label)
    met.push(read.label)
    const reasons = new Map<string, string>()
    for (const wanted of withDependencies ? dependenciesOf(read.manifest) : []) {
      if ([...(await labelsIn(place.store)), ...met].some((each) => matchesRequest(each, wanted))) continue
      if (met.length > MOST_BROUGHT) reasons.set(wanted.name, `${MOST_BROUGHT} others were added`)
      else await add(wanted).catch((error: Error) => void reasons.set(wanted.name, error.message))
    }
    added.push(await addRead(place, read, { met, reasons, isDryRun }))
  }
  await add(source)
  return added
}

/** `met`: packages that the command adds. `reasons`: why dependencies were not added, by name. `isDryRun`: nothing is stored. */
type Addition = { readonly met: readonly PackageLabel[]; readonly reasons: ReadonlyMap<string, string>; readonly isDryRun: boolean }

/** Stores a package and returns a report on it. */
async function addRead(
  { store, recording, effectsOf }: PackageAdministration,
  read: ReadPackage,
  { met, reasons, isDryRun }: Addition,
): Promise<AddedPackage> {
  const { label, manifest, content, files, leftOut, ofR4 } = read
  const { parameters, replaced, types } = await parametersBeside(store, read)
  const effects = await effectsOf({ types, parameters: codesIn(parameters), canonicals: definitionsIn(content) })
  const add = () =>
    auditChange(recording, { interaction: 'package add', key: `${label.name}@${label.version}` }, async () => {
      if (!(await store.add(label, files))) throw alreadyThere(label)
    })
  if (!isDryRun) await add()
  const there = [...(await labelsIn(store)), ...met]
  const missing = dependenciesOf(manifest).filter((wanted) => !there.some((each) => matchesRequest(each, wanted)))
  return {
    ...{ ...label, parameters, replaced, counts: countsOf(content), ofTenants: effects?.definitions ?? [] },
    rebuilt: types.map((type) => ({ type, ...(effects?.documents === undefined ? {} : { documents: effects.documents[type]! }) })),
    leftOut: [...leftOut, ...retiredIn(content), ...(await baseless(store, content))],
    missing: missing.map((each) => ({ ...each, ...(reasons.has(each.name) ? { reason: reasons.get(each.name)! } : {}) })),
    ofR4,
  }
}

/** Returns the search parameters of a package with their states beside those of other packages, and the types on which they are new. */
async function parametersBeside(
  store: PackageStore,
  { label, parameters }: ReadPackage,
): Promise<Pick<AddedPackage, 'parameters' | 'replaced'> & { readonly types: readonly string[] }> {
  const others = await readSearchParameters((await store.now()).packages, () => undefined)
  const before = resolvePackageParameters(others)
  const known = new Set(mappingsOf(before).map(({ base, field }) => `${base} ${field}`))
  const mine = withLimits(resolvePackageParameters([...others, { ...label, parameters }])).filter((each) =>
    isSamePackage(each.package, label),
  )
  const fresh = mappingsOf(mine).filter(({ base, field }) => !known.has(`${base} ${field}`))
  const meanings = new Map(mappingsOf(mine).map((each) => [`${each.base} ${each.code}`, meaningOf(each)]))
  const replaced = before.filter((each) => each.package.name !== label.name && isReplaced(each, meanings))
  return { parameters: mine, replaced, types: [...new Set(fresh.map(({ base }) => base))].toSorted() }
}

/** Whether a package defines a code of the parameter with another meaning. `meanings`: those of the package, by type and code. */
const isReplaced = ({ mappings }: PackageParameter, meanings: ReadonlyMap<string, string>): boolean =>
  mappings.some((each) => (meanings.get(`${each.base} ${each.code}`) ?? meaningOf(each)) !== meaningOf(each))

const meaningOf = ({ type, expression, targets }: CustomMapping): string => JSON.stringify([type, expression, targets])

const alreadyThere = ({ name, version }: PackageLabel): RangeError => new RangeError(`${name} ${version} is already added`)

/** Removes an added package and returns its label. Throws a RangeError if no added package matches, or if several versions do. */
export async function removePackage(
  { store, recording, endRemovedParameters }: PackageAdministration,
  named: PackageReference,
): Promise<PackageLabel> {
  const label = onlyOne(named, (await store.now()).packages)
  await auditChange(recording, { interaction: 'package remove', key: `${label.name}@${label.version}` }, async () => {
    if (!(await store.remove(label))) throw notThere(label)
  })
  if (endRemovedParameters !== undefined) {
    const remaining = await readSearchParameters((await store.now()).packages, () => undefined)
    await endRemovedParameters(mappingsOf(resolvePackageParameters(remaining)))
  }
  return label
}

function onlyOne(named: PackageReference, packages: readonly PackageLabel[]): PackageLabel {
  const meant = ({ name, version }: PackageLabel): boolean => name === named.name && (named.version ?? version) === version
  const [found, ...others] = packages.filter(meant)
  if (others.length > 0) {
    const all = [found!, ...others].map(({ name, version }) => `${name}@${version}`)
    throw new RangeError(`Several versions of ${named.name} are added: name one of them, ${all.join(' or ')}`)
  }
  if (found !== undefined) return { name: found.name, version: found.version }
  throw OWN_PACKAGES.some(meant) ? new RangeError(`${shown(named)} is part of the server`) : notThere(named)
}

const notThere = (named: PackageReference): RangeError => new RangeError(`${shown(named)} is not added`)

const shown = ({ name, version }: PackageReference): string => (version === undefined ? name : `${name} ${version}`)

/** Marks the parameters beyond the limits of all packages together as refused. Parameters of tenants may leave less capacity. */
function withLimits(parameters: readonly PackageParameter[]): readonly PackageParameter[] {
  const all = parameters.flatMap(({ mappings }) => mappings)
  const fitting = new Set(withPackageParameters(NO_DEFINITIONS, all, 0).definitions.map(({ mapping }) => mapping))
  return parameters.map((each) => {
    const mappings = each.mappings.filter((mapping) => fitting.has(mapping))
    if (each.state !== 'used' || mappings.length > 0) return { ...each, mappings }
    return { ...each, mappings, state: 'refused', reason: `All packages together have ${TENANT_QUOTA_TEXT}` }
  })
}

export type ClaimedStatement = { readonly canonical: string; readonly missing: readonly string[] }

/** Returns the CapabilityStatements of the added packages, each with the requirements that a server with these packages does not meet. */
export async function listCapabilities({ store }: PackageAdministration): Promise<readonly ClaimedStatement[]> {
  const { packages } = await store.now()
  const custom = mappingsOf(resolvePackageParameters(await readSearchParameters(packages, () => undefined)))
  const { requirements } = await addedGuidesOf(store, () => undefined)()
  const claims = claimsOf(readConfig(), { custom })
  return requirements.map((each) => ({ canonical: each.canonical, missing: missingCapabilities(each, claims) }))
}

export async function listPackages({ store, parameterStates }: PackageAdministration): Promise<readonly ListedPackage[]> {
  const { packages } = await store.now()
  const known = packages.length === 0 ? undefined : await parameterStates()
  const all = withLimits(resolvePackageParameters(await readSearchParameters(packages, () => undefined)))
  const listed = async (kept: (typeof packages)[number], isOwn: boolean): Promise<ListedPackage> => {
    const opened = new PackageReader(kept, () => undefined, isOwn)
    const counts = (await opened.isWhole()) ? await countsIn(opened) : undefined
    const parameters = isOwn ? [] : all.filter((each) => isSamePackage(each.package, kept)).map((each) => withBuildState(each, known))
    return { name: kept.name, version: kept.version, counts, isOwn, parameters }
  }
  return Promise.all([...OWN_PACKAGES.map((each) => listed(each, true)), ...packages.map((each) => listed(each, false))])
}

const labelsIn = async (store: PackageStore): Promise<readonly PackageLabel[]> => [...OWN_PACKAGES, ...(await store.now()).packages]

const codesIn = (parameters: readonly PackageParameter[]): EffectiveParts['parameters'] =>
  mappingsOf(parameters).map(({ base, code, field }) => ({ base, code, field }))

function definitionsIn({ profiles, valueSets, codeSystems }: Package): EffectiveParts['canonicals'] {
  const ofType = (type: DefinitionType, files: readonly object[]) => files.flatMap(Object.keys).map((url) => ({ type, url }))
  return [
    ...ofType('StructureDefinition', Object.values(profiles)),
    ...ofType('ValueSet', [valueSets]),
    ...ofType('CodeSystem', [codeSystems]),
  ]
}

const countsOf = ({ profiles, valueSets, codeSystems }: Package): DefinitionCounts => ({
  profiles: Object.values(profiles).flatMap((file) => Object.keys(file)).length,
  valueSets: Object.keys(valueSets).length,
  codeSystems: Object.keys(codeSystems).length,
})

async function countsIn(opened: PackageReader): Promise<DefinitionCounts> {
  const count = async (files: readonly string[]): Promise<number> =>
    (await Promise.all(files.map((file) => opened.file(file)))).reduce((sum, file) => sum + Object.keys(file).length, 0)
  return {
    profiles: await count(['index']),
    valueSets: await count(await opened.parts('value-sets')),
    codeSystems: await count(await opened.parts('code-systems')),
  }
}

function retiredIn({ profiles, valueSets, codeSystems }: Package): readonly SkippedDefinition[] {
  const all = [...Object.values(profiles), valueSets, codeSystems].flatMap((file) => Object.values(file))
  return all.filter(({ isRetired }) => isRetired).map(({ url }) => ({ url, reason: 'It is retired' }))
}

/** Returns the profiles that have only a differential and whose base profile is missing or retired, so that the server cannot use them. */
async function baseless(store: PackageStore, { profiles }: Package): Promise<readonly SkippedDefinition[]> {
  const all = definitionsOf(store)
  const own = new Set(Object.values(profiles).flatMap((file) => Object.keys(file)))
  const found: SkippedDefinition[] = []
  for (const { url, isWhole, base = '', type } of Object.values(profiles).flatMap((file) => Object.values(file))) {
    if (isWhole || withoutVersion(base) === `http://hl7.org/fhir/StructureDefinition/${type}`) continue
    const above = await all.profile(base)
    // In a dry run the package is not stored.
    if (above === undefined && !own.has(withoutVersion(base))) found.push({ url, reason: `It derives from ${base}, which is not loaded` })
    else if (above?.isRetired) found.push({ url, reason: `It derives from ${base}, which is retired` })
  }
  return found
}
