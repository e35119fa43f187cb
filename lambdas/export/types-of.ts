/** The types of an export: those of its level that it was asked for, as far as its client may read and find them. */
import { type Access, clausesFor } from '../access/access.ts'
import { patientCompartmentTypes } from '../fhir/compartment.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import type { Level } from './asked.ts'
import type { Job } from './job.ts'

/** Devices say whose they are, and belong to that patient's data, though to no compartment. */
const OF_PATIENTS: readonly string[] = resourceTypes.filter((type) => patientCompartmentTypes.has(type) || type === 'Device')

export type ExportTypes = {
  readonly types: readonly string[]
  /** What of the types asked for is left out, and why. */
  readonly told: readonly string[]
}

/** `groupTypes`: a setting. */
export function typesOf({ level, asked, access }: Pick<Job, 'level' | 'asked' | 'access'>, groupTypes: readonly string[]): ExportTypes {
  const all = { system: resourceTypes, patient: OF_PATIENTS, group: groupTypes } satisfies Record<Level, readonly string[]>
  const ofLevel = all[level].filter((type) => asked.types?.includes(type) ?? true)
  return {
    types: ofLevel.filter((type) => isInScope(access, type)),
    told: (asked.types ?? []).flatMap((type) => {
      if (!all[level].includes(type)) return [`_type names ${type}, which is no type of this export`]
      return isInScope(access, type) ? [] : [`_type names ${type}, which is out of scope`]
    }),
  }
}

const isInScope = (access: Access, type: string): boolean =>
  clausesFor(access, type, 'r').length > 0 && clausesFor(access, type, 's').length > 0
