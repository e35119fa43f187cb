/** Types of an export: the types of its level that the request names and that its client may read and search. */
import { type Access, clausesFor } from '../../access/access.ts'
import { patientDataTypes } from '../../fhir/compartment.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { type AdditionalResources, rulesOf } from '../additional-resources.ts'
import type { ExportLevel } from '../export-request.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'

export type ExportTypes = {
  readonly types: readonly string[]
  /**
   * Types of the level, regardless of `_type` and access. Excludes types that are exported only by reference and, in exports of a Group or
   * of named patients, the type Group.
   */
  readonly levelTypes: readonly string[]
  /** Types of the Patient compartment that a setting keeps out of this export; empty if the request names its types. */
  readonly omittedTypes: readonly string[]
  /** Messages for the error file: requested types that the export excludes, with the reason. */
  readonly messages: readonly string[]
}

/** `isForPartner`: the types are those of exports for partners, which no setting changes. */
export type TypeSettings = Pick<ExportParts, 'groupTypes' | 'additionalResources'> & { readonly isForPartner?: true }

type TypedJob = Pick<Job, 'level' | 'asked' | 'access' | 'patients'>

export function exportTypesOf({ level, asked, access, patients = asked.patients.length }: TypedJob, settings: TypeSettings): ExportTypes {
  const hasPatients = level === 'group' || patients > 0
  // Exports of a Group or of named patients exclude the type Group: a Group is in the compartment of each member, but it also names others.
  // An export of attributions for a partner has one, the exported Group.
  const leavesOutGroup = hasPatients && settings.isForPartner === undefined
  // guard: group-left-out-of-single-patients
  const levelTypes = levelTypesOf(level, settings).filter((type) => !(leavesOutGroup && type === 'Group'))
  const possible = possibleTypesOf(level, settings)
  return {
    types: levelTypes.filter((type) => (asked.types?.includes(type) ?? true) && isInScope(access, type)),
    levelTypes,
    omittedTypes: asked.types === undefined ? omittedTypesOf(level, settings).filter((type) => isInScope(access, type)) : [],
    messages: (asked.types ?? []).flatMap((type) => {
      if (leavesOutGroup && type === 'Group')
        return ['_type names Group, which exports of single patients leave out: its members are other people']
      if (!possible.has(type)) return [`_type names ${type}, which is no type of this export`]
      return isInScope(access, type) ? [] : [`_type names ${type}, which is out of scope`]
    }),
  }
}

const levelTypesOf = (level: ExportLevel, { groupTypes }: Pick<TypeSettings, 'groupTypes'>): readonly string[] =>
  ({ system: resourceTypes, patient: patientDataTypes, group: groupTypes.includes(ALL) ? patientDataTypes : groupTypes })[level]

/** Setting value for the whole Patient compartment. */
const ALL = 'all'

/** Returns the types that exports of the level may hold, including types that are exported only by reference. */
export const possibleTypesOf = (level: ExportLevel, settings: TypeSettings): ReadonlySet<string> =>
  new Set([...levelTypesOf(level, settings), ...additionalTypes(level, settings.additionalResources)])

/** Returns the types of the Patient compartment that `groupExportTypes` keeps out of exports of the level. */
export function omittedTypesOf(level: ExportLevel, settings: Pick<TypeSettings, 'groupTypes' | 'isForPartner'>): readonly string[] {
  if (settings.isForPartner) return []
  const exported = levelTypesOf(level, settings)
  return level === 'group' ? patientDataTypes.filter((type) => type !== 'Group' && !exported.includes(type)) : []
}

const additionalTypes = (level: ExportLevel, additional: AdditionalResources): readonly string[] =>
  rulesOf(level, additional).flatMap(([, rules]) => rules.flatMap(({ resourceTypes }) => resourceTypes))

const isInScope = (access: Access, type: string): boolean =>
  clausesFor(access, type, 'r').length > 0 && clausesFor(access, type, 's').length > 0
