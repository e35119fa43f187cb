/** The types of an export: those of its level that it was asked for, as far as its client may read and find them. */
import { type Access, clausesFor } from '../../access/access.ts'
import { typesOfPatients } from '../../fhir/compartment.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { type AdditionalResources, rulesOf } from '../additional-resources.ts'
import type { Level } from '../export-request.ts'
import type { Job } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'

export type ExportTypes = {
  readonly types: readonly string[]
  /** Whether it was asked for them or not. */
  readonly levelTypes: readonly string[]
  /** What of the types asked for is left out, and why. */
  readonly told: readonly string[]
}

type Settings = Pick<ExportParts, 'groupTypes' | 'additionalResources'>

export function typesOf({ level, asked, access }: Pick<Job, 'level' | 'asked' | 'access'>, settings: Settings): ExportTypes {
  const all = { system: resourceTypes, patient: typesOfPatients, group: settings.groupTypes } satisfies Record<Level, readonly string[]>
  const ofLevel = all[level].filter((type) => asked.types?.includes(type) ?? true)
  const possible = new Set([...all[level], ...additionalTypes(level, settings.additionalResources)])
  return {
    types: ofLevel.filter((type) => isInScope(access, type)),
    levelTypes: all[level],
    told: (asked.types ?? []).flatMap((type) => {
      if (!possible.has(type)) return [`_type names ${type}, which is no type of this export`]
      return isInScope(access, type) ? [] : [`_type names ${type}, which is out of scope`]
    }),
  }
}

/** Of what is exported because something refers to it. */
const additionalTypes = (level: Level, additional: AdditionalResources): readonly string[] =>
  rulesOf(level, additional).flatMap(([, rules]) => rules.flatMap(({ resourceTypes }) => resourceTypes))

const isInScope = (access: Access, type: string): boolean =>
  clausesFor(access, type, 'r').length > 0 && clausesFor(access, type, 's').length > 0
