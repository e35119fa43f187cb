/**
 * Patient ownership: whether a version is data of the patients of an export. Compartments decide it. Device and Provenance may be in no
 * compartment, so their references decide. A deletion belongs to the patients of the version before it.
 * https://hl7.org/fhir/R4/compartmentdefinition-patient.html
 */
import { type BaseUrls, toLocalReference } from '../../fhir/references.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { toResourceKey } from '../../ports/store/resource-key.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import { resourceOf } from '../versions/version-body.ts'
import { isDamaged, type VersionAsOf } from '../versions/versions-as-of.ts'

export type OwnershipContext = {
  readonly bases: BaseUrls
  /** Types of the level, regardless of `_type` and access. */
  readonly levelTypes: ReadonlySet<string>
  /** Returns the version before a deletion, or undefined if there is none. */
  readonly before: (deletion: ResourceVersion) => Promise<ResourceVersion | undefined>
  /** Returns the versions that were current at the transaction time. */
  readonly asOf: (keys: readonly ResourceKey[]) => Promise<readonly VersionAsOf[]>
  /**
   * Present for a partner: data about another Patient belongs to none of the patients, even if it is in the compartment of one, such as a
   * claim of a child that is paid to a parent. Absent: the compartment alone decides.
   */
  readonly isForPartner?: true
}

/**
 * Whether the version is data of the patients. Throws the fault `store-damaged` if that cannot be determined.
 * `isExportPatient`: whether a reference such as `Patient/1` is one of the patients.
 */
export function isOwnedByPatients(
  context: OwnershipContext,
  version: ResourceVersion,
  isExportPatient: (name: string) => boolean,
): boolean | Promise<boolean> {
  const { type, id, compartments } = version
  if (type === 'Patient') return isExportPatient(`Patient/${id}`)
  const namesOthers = context.isForPartner === true && compartments.some((name) => name.startsWith(PATIENT) && !isExportPatient(name))
  // A Provenance of a load names all of its Patients, so each exported one would reveal the others.
  // guard: partner-gets-no-provenance-of-others
  if (type === 'Provenance' && namesOthers) return false
  // guard: partner-gets-no-data-about-others
  if (compartments.some(isExportPatient)) return namesOthers ? isAboutThem(context, version, isExportPatient) : true
  return type === 'Device' || type === 'Provenance' ? ownsByReferences(context, version, isExportPatient) : false
}

const PATIENT = 'Patient/'

/** Returns the resource, or for a deletion the one before it. Returns undefined if there is none. */
async function contentOf({ before }: OwnershipContext, version: ResourceVersion): Promise<Resource | undefined> {
  const content = version.deleted ? await before(version) : version
  return content === undefined || content.body.length === 0 ? undefined : resourceOf(content)
}

/** Whether the version is about one of the patients, or about no Patient. R4 names the element differently by type. */
async function isAboutThem(
  context: OwnershipContext,
  version: ResourceVersion,
  isExportPatient: (name: string) => boolean,
): Promise<boolean> {
  const resource = await contentOf(context, version)
  if (resource === undefined) return false
  const { patient, subject, beneficiary } = resource
  const about = namesIn([patient, subject, beneficiary], context).filter((name) => name.startsWith(PATIENT))
  return about.length === 0 || about.some(isExportPatient)
}

/**
 * Whether the references make the version data of the patients. A Device belongs to the patient of `Device.patient`. A Provenance belongs
 * to the patients of its targets. A deleted target counts only for a deleted Provenance.
 */
async function ownsByReferences(
  context: OwnershipContext,
  version: ResourceVersion,
  isExportPatient: (name: string) => boolean,
): Promise<boolean> {
  const resource = await contentOf(context, version)
  if (resource === undefined) return false
  const { patient, target } = resource
  if (version.type === 'Device') return namesIn([patient], context).some(isExportPatient)
  const names = namesIn(Array.isArray(target) ? target : [], context).filter((name) => decidesOwnership(context, name))
  const targets = names.length === 0 ? [] : await context.asOf(names.map((name) => toResourceKey(version.tenant, name)))
  const existing = targets.filter((each) => each !== undefined && (version.deleted || !each.deleted))
  for (const each of existing)
    if (isDamaged(each) ? isExportPatient(`${each.type}/${each.id}`) : await isOwnedByPatients(context, each!, isExportPatient)) return true
  const damaged = existing.find((each) => isDamaged(each))
  if (damaged !== undefined) throw damaged.damage
  return false
}

const namesIn = (references: readonly unknown[], { bases }: OwnershipContext): readonly string[] =>
  references.flatMap((each) =>
    isElement(each) && typeof each.reference === 'string' ? (toLocalReference(each.reference, bases) ?? []) : [],
  )

/** Whether a target decides the ownership of a Provenance. A target that is a Provenance, or of a type outside the level, does not. */
function decidesOwnership({ levelTypes }: OwnershipContext, name: string): boolean {
  const type = name.slice(0, name.indexOf('/'))
  return type !== 'Provenance' && levelTypes.has(type)
}
